// Tells those who do not see the page what has changed: states of jobs and results of actions, nothing else.
export function announce(text) {
  const region = document.getElementById("announcements");
  if (region && region.textContent !== text) region.textContent = text;
}
