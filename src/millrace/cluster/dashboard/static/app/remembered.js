// Small choices of the user that outlive a reload, where the browser allows that.
export function recall(name, fallback) {
  try {
    return localStorage.getItem(`millrace.${name}`) ?? fallback;
  } catch {
    return fallback;
  }
}

export function remember(name, value) {
  try {
    if (value === null) localStorage.removeItem(`millrace.${name}`);
    else localStorage.setItem(`millrace.${name}`, value);
  } catch {
    // Then it lasts as long as the page.
  }
}
