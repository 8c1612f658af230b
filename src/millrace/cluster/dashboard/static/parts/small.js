// Small things that many pages use.
import { html, useCallback, useEffect, useRef, useState } from "../lib/html.js";

export function Tiles({ children }) {
  return html`<dl class="tiles">${children}</dl>`;
}

export function Tile({ name, children, note = "", kind = "" }) {
  return html`<div class=${`tile ${kind}`}><dt>${name}</dt><dd>${children}</dd>${note && html`<dd class="note">${note}</dd>`}</div>`;
}

export function Facts({ facts }) {
  return html`<dl class="facts">${facts.filter(Boolean).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

export function Tabs({ label, tabs, at }) {
  return html`<nav class="tabs" aria-label=${label}>${tabs.map(
    ([id, name, href, extra]) => html`<a key=${id} href=${href} aria-current=${id === at ? "page" : undefined}>${name}${extra}</a>`,
  )}</nav>`;
}

export function Section({ title, children, actions = null, id = undefined }) {
  return html`<section class="card" aria-label=${title} id=${id}><header><h2>${title}</h2>${actions}</header>${children}</section>`;
}

export function Problem({ error }) {
  return error ? html`<p class="problem" role="alert">${error.message}</p>` : null;
}

// What is shown until the first answer is there, or instead of it.
export function Waiting({ answer, children }) {
  if (answer.data !== undefined) {
    return html`${answer.error && html`<p class="problem" role="status">${answer.error.message} What you see is from before.</p>`}${children(answer.data)}`;
  }
  return answer.error ? html`<${Problem} error=${answer.error} />` : html`<p class="loading">Loading …</p>`;
}

export function Bar({ share, label, kind = "" }) {
  return html`<span class=${`bar ${kind}`} title=${label}><span style=${{ width: `${Math.min(100, Math.max(0, share * 100))}%` }}></span></span>`;
}

export function Copy({ text, label }) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return undefined;
    const timer = setTimeout(() => setDone(false), 1500);
    return () => clearTimeout(timer);
  }, [done]);
  const copy = () => navigator.clipboard?.writeText(text).then(() => setDone(true), () => {});
  return html`<button type="button" class="copy" title=${`Copy ${label}`} onClick=${copy}><code>${text}</code>
    ${done ? html`<span aria-hidden="true">✓</span>` : html`<svg width="12" height="12" viewBox="0 0 12 12" aria-hidden="true"><path d="M4 3.500V1.500h6.500V8H8.500M1.500 4h6.500v6.500H1.500z" /></svg>`}<span class="unseen" aria-live="polite">${done ? "Copied" : `Copy ${label}`}</span></button>`;
}

// The width of an element, while it changes; the element itself may change, too.
export function useWidth() {
  const [width, setWidth] = useState(0);
  const observer = useRef(null);
  const ref = useCallback((element) => {
    observer.current?.disconnect();
    if (!element) return;
    observer.current = new ResizeObserver(([entry]) => setWidth(Math.floor(entry.contentRect.width)));
    observer.current.observe(element);
  }, []);
  return [ref, width];
}

export function KeyValues({ caption, entries }) {
  const [wanted, setWanted] = useState("");
  const needle = wanted.toLowerCase();
  const shown = entries.filter(([key, value]) => `${key} ${value}`.toLowerCase().includes(needle));
  if (!entries.length) return html`<p class="empty">Nothing is set.</p>`;
  return html`${entries.length > 8 && html`<label class="search">Search <input type="search" value=${wanted} onInput=${(event) => setWanted(event.target.value)} /></label>`}
    <div class="scroll" tabindex="0" role="group" aria-label=${caption}><table class="pairs"><caption class="unseen">${caption}</caption>
    <thead><tr><th scope="col">Key</th><th scope="col">Value</th></tr></thead>
    <tbody>${shown.map(([key, value]) => html`<tr key=${key}><th scope="row"><code>${key}</code></th><td><code>${value}</code></td></tr>`)}</tbody></table></div>`;
}
