// Signs a person in and leads back to where they came from, or signs them out. Runs in their browser.
import { ask, base, part, show, signIn, tell, whoIsHere } from "/sign-in/shared.js";

/** Where `return_to` leads, as a path of this Weir; anything else leads to the start. */
function placeToGo() {
  const asked = new URLSearchParams(location.search).get("return_to") ?? "";
  const url = URL.parse(asked, location.origin);
  if (!asked.startsWith("/") || url?.origin !== location.origin) return `${base}/`;
  if (url.pathname.startsWith("//")) return `${base}/`; // by itself a path of two slashes names another host
  const isBelow = `${url.pathname}/`.startsWith(`${base}/`);
  return (isBelow ? "" : base) + url.pathname + url.search + url.hash;
}

const place = placeToGo();
part("go-on").href = place;

part("sign-out").addEventListener("click", async () => {
  const { isGood, status, problem } = await ask("POST", "/api/v1/auth/logout");
  if (isGood || status === 401) return location.reload();
  tell(problem);
});

const person = await whoIsHere();
if (person) {
  part("who").textContent = person.email;
  show("signed-in");
} else {
  await signIn(place, () => location.assign(place));
}
