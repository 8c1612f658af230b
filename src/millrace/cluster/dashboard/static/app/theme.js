// Runs before anything is painted, so that a chosen theme does not flash.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("millrace.theme");
  } catch {
    // Storage may be forbidden: the system's theme it is.
  }
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
})();
