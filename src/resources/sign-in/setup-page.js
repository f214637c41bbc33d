// Sends the form of the set-up page and says what came of it. Runs in the browser of the first owner.
const form = document.querySelector("form");
const told = document.querySelector("#told");
const token = new URLSearchParams(location.search).get("token") ?? "";

function show(lines, isGood) {
  told.replaceChildren(
    ...lines.map((line) => {
      const item = document.createElement("p");
      item.textContent = line;
      return item;
    }),
  );
  told.className = isGood ? "good" : "bad";
}

if (token === "")
  show(["This page is opened by the set-up link that Weir prints when it starts for the first time."], false);

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const fields = Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ""));
  const reply = await fetch("/api/v1/auth/setup", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...fields, token }),
  }).catch(() => null);
  const answer = (await reply?.json().catch(() => null)) ?? null;
  if (reply?.ok) {
    form.remove();
    show([`You are signed in as ${answer.email}, owner of the new organization.`], true);
    const next = document.createElement("a");
    next.href = "/docs";
    next.textContent = "Go on to the API";
    told.append(next);
    return;
  }
  const detail = answer?.detail ?? "Weir could not be reached; is it still running?";
  show(
    Array.isArray(detail) ? detail.map(({ loc, msg }) => `${loc.slice(1).join(".")}: ${msg}`) : [detail],
    false,
  );
});
