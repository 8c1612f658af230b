// A question that has to be answered before anything else: the browser's own modal dialog.
import { html, useEffect, useRef } from "../lib/html.js";

export function Dialog({ title, close, children }) {
  const ref = useRef(null);
  useEffect(() => {
    const before = document.activeElement;
    ref.current.showModal();
    return () => before?.focus?.();
  }, []);
  const cancel = (event) => {
    event.preventDefault();
    close();
  };
  return html`<dialog ref=${ref} aria-labelledby="dialog-title" onCancel=${cancel}>
    <h2 id="dialog-title">${title}</h2>${children}</dialog>`;
}
