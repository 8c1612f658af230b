// How findings are marked: a sign, and its name for those who do not see it.
export const SEVERITIES = { error: ["✕", "Problem"], warning: ["▲", "Warning"], hint: ["i", "Hint"] };
