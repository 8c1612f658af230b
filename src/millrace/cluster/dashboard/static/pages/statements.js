// A script cut into statements: at semicolons that stand in no text, name or comment.
const PART = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|--[^\n]*|\/\*[^]*?\*\/|;|[^;'"`/-]+|[^]/g;

export function statements(script) {
  const found = [];
  let one = "";
  for (const [part] of script.matchAll(PART)) {
    if (part === ";" && !inSet(one)) {
      found.push(one);
      one = "";
    } else if (!part.startsWith("--") && !part.startsWith("/*")) one += part;
    else one += " ";
  }
  return [...found, one].map((each) => each.trim()).filter(Boolean);
}

// EXECUTE STATEMENT SET BEGIN ... END holds statements of its own.
const inSet = (text) => /^\s*(?:EXECUTE\s+STATEMENT\s+SET|BEGIN\s+STATEMENT\s+SET)\b/i.test(text) && !/\bEND\s*$/i.test(text);
