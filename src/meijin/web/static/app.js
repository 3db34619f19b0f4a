/**
 * The page: shows what the address asks for, with whatever engine `main.js` gives it.
 *
 * @import {Engine} from "./engine.js"
 *
 * @typedef {{title: string, feature: "arena" | "training" | "designer", load: () => Promise<any>}} ExtraPage
 * @typedef {Record<string, ExtraPage>} ExtraPages  by the first part of the address; loaded when first asked for
 */

import { Home } from "./pages/home.js";
import { PlayPage } from "./play/page.js";
import { Icon, Spinner, html, useEvents, usePromise } from "./ui/kit.js";
import { changes, route } from "./ui/router.js";
import { settings, theme } from "./ui/settings.js";
import { render, useEffect, useErrorBoundary } from "./vendor/preact.js";

/** @param {{engine: Engine, pages: ExtraPages}} props */
function App({ engine, pages }) {
  useEvents(changes, ["change"]);
  useEvents(settings, ["change"]);
  const here = route();
  const name = here.path[0] ?? "";
  const chosen = theme();
  useEffect(() => {
    document.documentElement.dataset.theme = chosen;
  }, [chosen]);
  useEffect(() => {
    if (!["play", "table", "game"].includes(name)) document.title = name in pages ? `${pages[name].title} · Meijin` : "Meijin";
  }, [name]);
  const page = ["play", "table", "game"].includes(name) ? PlayPage : name in pages ? Later : Home;
  return html`<a class="skip" href="#main" onClick=${(/** @type {Event} */ e) => { e.preventDefault(); /** @type {HTMLElement | null} */ (document.querySelector("main"))?.focus(); }}>Skip to the content</a>
    <${Header} engine=${engine} pages=${pages} current=${name} />
    <${Boundary} key=${name}><${page} engine=${engine} route=${here} pages=${pages} /><//>`;
}

/** @param {{engine: Engine, route: import("./ui/router.js").Route, pages: ExtraPages}} props */
function Later({ engine, route: here, pages }) {
  const name = here.path[0];
  const loaded = usePromise(() => pages[name].load(), [name]);
  if (loaded === undefined) return html`<main><${Spinner} /></main>`;
  if (loaded instanceof Error) return html`<main class="notice"><h1>This page cannot be loaded</h1><p>${loaded.message}</p></main>`;
  return html`<${loaded.default} engine=${engine} route=${here} />`;
}

/** @param {{engine: Engine, pages: ExtraPages, current: string}} props */
function Header({ engine, pages, current }) {
  const links = [{ href: "#/", title: "Play", on: !(current in pages) }, ...Object.entries(pages).flatMap(([name, { title, feature }]) => (engine.features[feature] ? [{ href: `#/${name}`, title, on: name === current }] : []))];
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

/** Show the page. @param {Engine | Promise<Engine>} engine @param {{pages?: ExtraPages}} [options] */
export async function start(engine, { pages = {} } = {}) {
  document.documentElement.dataset.theme = theme();
  const root = /** @type {HTMLElement} */ (document.getElementById("app"));
  try {
    render(html`<${App} engine=${await engine} pages=${pages} />`, root);
  } catch (error) {
    render(html`<main class="notice"><h1>Meijin cannot start</h1><p>${error instanceof Error ? error.message : String(error)}</p></main>`, root);
  }
}
