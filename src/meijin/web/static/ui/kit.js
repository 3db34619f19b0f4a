/** The small parts that all pages are made of. */

import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { iconPath } from "./icons.js";

export { html };

/** @param {{name: string}} props */
export function Icon({ name }) {
  return html`<svg class="icon" viewBox="0 0 20 20" aria-hidden="true"><path d=${iconPath(name)} /></svg>`;
}

/**
 * @param {{icon?: string, label?: string, title?: string, kind?: string, disabled?: boolean, pressed?: boolean, onClick?: (event: Event) => void, type?: string, id?: string, children?: any}} props
 * kind: "main", "plain" (default), "quiet" or "icon"
 */
export function Button({ icon, label, title, kind = "plain", disabled, pressed, onClick, type = "button", id, children }) {
  return html`<button
    id=${id}
    type=${type}
    class="button ${kind}"
    title=${title}
    aria-label=${kind === "icon" ? (title ?? label) : undefined}
    aria-pressed=${pressed === undefined ? undefined : String(pressed)}
    disabled=${disabled}
    onClick=${onClick}
  >
    ${icon && html`<${Icon} name=${icon} />`}${label && kind !== "icon" ? html`<span>${label}</span>` : ""}${children}
  </button>`;
}

/**
 * A choice of a few, side by side.
 * @param {{options: {value: any, label: string, icon?: string}[], value: any, onChange: (value: any) => void, label: string, small?: boolean}} props
 */
export function Segments({ options, value, onChange, label, small }) {
  return html`<div class="segments ${small ? "small" : ""}" role="group" aria-label=${label}>
    ${options.map(
      (option) => html`<button type="button" aria-pressed=${String(option.value === value)} onClick=${() => onChange(option.value)}>
        ${option.icon && html`<${Icon} name=${option.icon} />`}${option.label}
      </button>`,
    )}
  </div>`;
}

/**
 * @param {{tabs: {id: string, label: string, count?: number}[], value: string, onChange: (id: string) => void, label: string}} props
 */
export function Tabs({ tabs, value, onChange, label }) {
  const move = (/** @type {KeyboardEvent} */ event) => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    const at = tabs.findIndex((tab) => tab.id === value);
    const next = tabs[(at + by + tabs.length) % tabs.length];
    onChange(next.id);
    document.getElementById(`tab-${next.id}`)?.focus();
  };
  return html`<div class="tabs" role="tablist" aria-label=${label} onKeyDown=${move}>
    ${tabs.map(
      (tab) => html`<button type="button" role="tab" id="tab-${tab.id}" aria-selected=${String(tab.id === value)} aria-controls="panel-${tab.id}" tabindex=${tab.id === value ? 0 : -1} onClick=${() => onChange(tab.id)}>
        ${tab.label}${tab.count ? html`<span class="count">${tab.count}</span>` : ""}
      </button>`,
    )}
  </div>`;
}

/** @param {{label: string, help?: string, title?: string, children?: any, error?: string}} props */
export function Field({ label, help, title, children, error }) {
  return html`<label class="field" title=${title}>
    <span class="name">${label}</span>
    ${children}
    ${error ? html`<span class="error">${error}</span>` : help ? html`<span class="help">${help}</span>` : ""}
  </label>`;
}

/**
 * A dialog over the page. Escape and a click outside close it; the focus goes back where it was.
 * @param {{title: string, onClose: () => void, children?: any, actions?: any, wide?: boolean}} props
 */
export function Dialog({ title, onClose, children, actions, wide }) {
  const ref = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    const dialog = /** @type {HTMLDialogElement} */ (ref.current);
    const before = /** @type {HTMLElement | null} */ (document.activeElement);
    dialog.showModal();
    return () => {
      dialog.close();
      before?.focus?.();
    };
  }, []);
  const outside = (/** @type {MouseEvent} */ event) => event.target === ref.current && onClose();
  return html`<dialog ref=${ref} class="dialog ${wide ? "wide" : ""}" aria-label=${title} onCancel=${(/** @type {Event} */ event) => { event.preventDefault(); onClose(); }} onMouseDown=${outside}>
    <div class="sheet">
      <header><h2>${title}</h2><${Button} kind="icon" icon="close" title="Close" onClick=${onClose} /></header>
      <div class="content">${children}</div>
      ${actions && html`<footer>${actions}</footer>`}
    </div>
  </dialog>`;
}

/**
 * A button that opens a list of actions.
 * @param {{icon?: string, title: string, label?: string, items: ({label: string, icon?: string, run: () => void, danger?: boolean, disabled?: boolean} | null | false)[], up?: boolean}} props
 */
export function Menu({ icon = "more", title, label, items, up }) {
  const [open, setOpen] = useState(false);
  const ref = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (!open) return;
    const root = /** @type {HTMLElement} */ (ref.current);
    /** @type {HTMLElement | null} */ (root.querySelector("[role=menuitem]:not([disabled])"))?.focus();
    const away = (/** @type {Event} */ event) => !root.contains(/** @type {Node} */ (event.target)) && setOpen(false);
    document.addEventListener("pointerdown", away);
    return () => document.removeEventListener("pointerdown", away);
  }, [open]);
  const key = (/** @type {KeyboardEvent} */ event) => {
    const all = [.../** @type {HTMLElement} */ (ref.current).querySelectorAll("[role=menuitem]:not([disabled])")];
    const at = all.indexOf(/** @type {Element} */ (document.activeElement));
    const to = event.key === "ArrowDown" ? at + 1 : event.key === "ArrowUp" ? at - 1 : null;
    if (event.key === "Escape" && open) {
      event.stopPropagation();
      setOpen(false);
      /** @type {HTMLElement | null} */ (ref.current?.querySelector("button"))?.focus();
    } else if (open && to !== null) {
      event.preventDefault();
      event.stopPropagation();
      /** @type {HTMLElement} */ (all[(to + all.length) % all.length])?.focus();
    }
  };
  return html`<div class="menu" ref=${ref} onKeyDown=${key}>
    <button type="button" class="button ${label ? "plain" : "icon"}" title=${title} aria-label=${label ? undefined : title} aria-haspopup="menu" aria-expanded=${String(open)} onClick=${() => setOpen(!open)}>
      <${Icon} name=${icon} />${label && html`<span>${label}</span>`}
    </button>
    ${open &&
    html`<div class="list ${up ? "up" : ""}" role="menu" aria-label=${title}>
      ${items.map((item) =>
        item
          ? html`<button type="button" role="menuitem" class=${item.danger ? "danger" : ""} disabled=${item.disabled} onClick=${() => { setOpen(false); item.run(); }}>
              ${item.icon ? html`<${Icon} name=${item.icon} />` : html`<span class="icon"></span>`}${item.label}
            </button>`
          : item === null ? html`<hr role="separator" />` : "",
      )}
    </div>`}
  </div>`;
}

/** @param {{children?: any}} props */
export function Spinner({ children }) {
  return html`<div class="spinner" role="status"><i></i>${children}</div>`;
}

/** A short message at the foot of the page. @param {string} text @param {"info" | "error"} [kind] */
export function toast(text, kind = "info") {
  let list = document.getElementById("toasts");
  if (!list) {
    list = Object.assign(document.createElement("div"), { id: "toasts" });
    list.setAttribute("role", "status");
    list.setAttribute("aria-live", "polite");
    list.setAttribute("popover", "manual");
    document.body.append(list);
  }
  list.hidePopover?.(); // to the top again, over a dialog that is open
  list.showPopover?.();
  const item = Object.assign(document.createElement("div"), { className: `toast ${kind}`, textContent: text });
  list.append(item);
  while (list.children.length > 3) list.firstChild?.remove();
  setTimeout(() => item.remove(), kind === "error" ? 7000 : 3500);
}

/** Run something and say what went wrong. @template T @param {() => Promise<T>} act @returns {Promise<T | undefined>} */
export async function attempt(act) {
  try {
    return await act();
  } catch (error) {
    toast(error instanceof Error ? error.message : String(error), "error");
    return undefined;
  }
}

/** Draw again whenever one of the events comes. @param {EventTarget | null} target @param {string[]} types */
export function useEvents(target, types) {
  const [, again] = useState(0);
  useEffect(() => {
    if (!target) return;
    let frame = 0;
    const wake = () => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        again((n) => n + 1);
      });
    };
    for (const type of types) target.addEventListener(type, wake);
    return () => {
      cancelAnimationFrame(frame);
      for (const type of types) target.removeEventListener(type, wake);
    };
  }, [target]);
}

/** The result of a promise: undefined while it is awaited, an Error if it failed. @template T @param {() => Promise<T>} make @param {any[]} inputs @returns {T | Error | undefined} */
export function usePromise(make, inputs) {
  const [found, setFound] = useState(/** @type {{value: any, inputs: any[]}} */ ({ value: undefined, inputs }));
  useEffect(() => {
    let live = true;
    make().then(
      (value) => live && setFound({ value, inputs }),
      (error) => live && setFound({ value: error instanceof Error ? error : new Error(String(error)), inputs }),
    );
    return () => {
      live = false;
    };
  }, inputs);
  return found.inputs.every((input, i) => input === inputs[i]) ? found.value : undefined;
}
