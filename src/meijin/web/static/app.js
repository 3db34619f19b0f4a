/**
 * The page: finds its engine, then shows what the address asks for.
 *
 * @import {Engine} from "./engine.js"
 */

import { serverEngine } from "./engine_server.js";
import { Home } from "./pages/home.js";
import { PlayPage } from "./play/page.js";
import { Icon, Spinner, html, useEvents, usePromise } from "./ui/kit.js";
import { changes, route } from "./ui/router.js";
import { settings, theme } from "./ui/settings.js";
import { render, useEffect, useErrorBoundary } from "./vendor/preact.js";

/** The server if there is one, else the browser itself. @returns {Promise<Engine>} */
async function openEngine() {
  if (document.documentElement.dataset.engine !== "local") {
    const server = await serverEngine();
    if (server) return server;
  }
  const local = "./engine_local.js";
  const { localEngine } = await import(local);
  return localEngine();
}

/** Pages that few visits need are loaded when they are asked for. @type {Record<string, {title: string, feature: "arena" | "training" | "designer", load: () => Promise<any>}>} */
const MORE = {
  arena: { title: "Arena", feature: "arena", load: () => import("./pages/arena.js") },
  training: { title: "Training", feature: "training", load: () => import("./pages/training.js") },
  designer: { title: "Designer", feature: "designer", load: () => import("./pages/designer.js") },
};

/** @param {{engine: Engine}} props */
function App({ engine }) {
  useEvents(changes, ["change"]);
  useEvents(settings, ["change"]);
  const here = route();
  const name = here.path[0] ?? "";
  const chosen = theme();
  useEffect(() => {
    document.documentElement.dataset.theme = chosen;
  }, [chosen]);
  useEffect(() => {
    if (!["play", "table", "game"].includes(name)) document.title = name in MORE ? `${MORE[name].title} · Meijin` : "Meijin";
  }, [name]);
  const page = ["play", "table", "game"].includes(name) ? PlayPage : name in MORE ? Later : Home;
  return html`<a class="skip" href="#main" onClick=${(/** @type {Event} */ e) => { e.preventDefault(); /** @type {HTMLElement | null} */ (document.querySelector("main"))?.focus(); }}>Skip to the content</a>
    <${Header} engine=${engine} current=${name} />
    <${Boundary} key=${name}><${page} engine=${engine} route=${here} /><//>`;
}

/** @param {{engine: Engine, route: import("./ui/router.js").Route}} props */
function Later({ engine, route: here }) {
  const name = here.path[0];
  const loaded = usePromise(() => MORE[name].load(), [name]);
  if (loaded === undefined) return html`<main><${Spinner} /></main>`;
  if (loaded instanceof Error) return html`<main class="notice"><h1>This page cannot be loaded</h1><p>${loaded.message}</p></main>`;
  return html`<${loaded.default} engine=${engine} route=${here} />`;
}

/** @param {{engine: Engine, current: string}} props */
function Header({ engine, current }) {
  const links = [{ href: "#/", title: "Play", on: !(current in MORE) }, ...Object.entries(MORE).flatMap(([name, { title, feature }]) => (engine.features[feature] ? [{ href: `#/${name}`, title, on: name === current }] : []))];
  const order = ["light", "dark", "wood"];
  const next = order[(order.indexOf(theme()) + 1) % order.length];
  return html`<header class="top">
    <a class="brand" href="#/" aria-label="Meijin, to the games"><span class="seal kanji" aria-hidden="true">名人</span><span class="word">Meijin</span></a>
    <nav aria-label="Pages">${links.length > 1 && links.map(({ href, title, on }) => html`<a href=${href} aria-current=${on ? "page" : undefined}>${title}</a>`)}</nav>
    <button type="button" class="button icon" title="Theme: ${theme()}; change to ${next}" aria-label="Change the theme to ${next}" onClick=${() => settings.set("theme", next)}><${Icon} name=${{ light: "sun", dark: "moon", wood: "wood" }[theme()]} /></button>
  </header>`;
}

/** A fault on one page leaves the rest standing. @param {{children?: any}} props */
function Boundary({ children }) {
  const [error] = useErrorBoundary((fault) => console.error(fault));
  if (error) return html`<main class="notice"><h1>Something went wrong here</h1><p>${error.message}</p><a class="button main" href="#/" onClick=${() => setTimeout(() => location.reload())}>Start again</a></main>`;
  return children;
}

document.documentElement.dataset.theme = theme();
const root = /** @type {HTMLElement} */ (document.getElementById("app"));
openEngine().then(
  (engine) => render(html`<${App} engine=${engine} />`, root),
  (error) => render(html`<main class="notice"><h1>Meijin cannot start</h1><p>${error.message}</p></main>`, root),
);
