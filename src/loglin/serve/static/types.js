// The types of spans behind labels such as B-PER; other labels are types themselves.
export function typesOf(labels) {
  const phrases = labels.every((y) => /^(O|[BIESLU](-.*)?)$/.test(String(y)));
  return [...new Set(labels.filter((y) => String(y) !== "O" || !phrases).map((y) => (phrases ? String(y).slice(2) || "_" : String(y))))];
}
