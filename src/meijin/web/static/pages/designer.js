import { html } from "../ui/kit.js";
export default function Page() { return html`<main></main>`; }
