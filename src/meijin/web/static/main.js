/** The page in front of a server. `meijin publish` writes another file in its place. */

import { start } from "./app.js";
import { withBrowser } from "./engine_both.js";
import { serverEngine } from "./engine_server.js";

void start(serverEngine().then(withBrowser), {
  pages: {
    arena: { title: "Arena", feature: "arena", load: () => import("./pages/arena.js") },
    training: { title: "Training", feature: "training", load: () => import("./pages/training.js") },
    designer: { title: "Designer", feature: "designer", load: () => import("./pages/designer.js") },
  },
});
