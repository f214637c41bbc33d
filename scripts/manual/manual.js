// Searches the documents: every word must be in a passage, and matches in titles and headings rank higher.
const docs = document.currentScript.dataset.docs;
const field = document.getElementById("search");
const results = document.getElementById("results");
const MOST = 20;
let passages = null;

const load = () => {
  passages ??= fetch(`${docs}/search.json`)
    .then((reply) => reply.json())
    .catch((error) => {
      passages = null;
      throw error;
    });
  return passages;
};

function scoreOf({ title, heading, text }, words) {
  const parts = [
    [title.toLowerCase(), 12],
    [heading.toLowerCase(), 6],
    [text.toLowerCase(), 1],
  ];
  let score = 0;
  for (const word of words) {
    const found = parts.reduce((sum, [part, weight]) => sum + (part.includes(word) ? weight : 0), 0);
    if (found === 0) return 0;
    score += found;
  }
  return score;
}

function snippetOf(text, words) {
  const at = Math.max(0, text.toLowerCase().indexOf(words[0]) - 60);
  return `${at > 0 ? "…" : ""}${text.slice(at, at + 180)}${text.length > at + 180 ? "…" : ""}`;
}

function show(found, words) {
  results.replaceChildren();
  if (found.length === 0) results.append("No documents match.");
  const list = document.createElement("ul");
  for (const { page, anchor, title, heading, text } of found) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = `${docs}/${page}${anchor ? `#${anchor}` : ""}`;
    link.textContent = heading ? `${title}: ${heading}` : title;
    const about = document.createElement("p");
    about.textContent = snippetOf(text, words);
    item.append(link, about);
    list.append(item);
  }
  if (found.length > 0) results.append(list);
  results.hidden = false;
}

async function search() {
  const asked = field.value;
  const words = asked.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) {
    results.hidden = true;
    return;
  }
  const all = await load().catch(() => null);
  if (field.value !== asked) return;
  if (all === null) {
    results.textContent = "Couldn't load the search index. Try again.";
    results.hidden = false;
    return;
  }
  const ranked = all
    .map((passage) => [scoreOf(passage, words), passage])
    .filter(([score]) => score > 0)
    .sort(([a], [b]) => b - a);
  show(
    ranked.slice(0, MOST).map(([, passage]) => passage),
    words,
  );
}

field.addEventListener("input", () => void search());
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !results.hidden) {
    results.hidden = true;
    field.focus();
  } else if (event.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement?.tagName ?? "")) {
    event.preventDefault();
    field.focus();
  }
});
