// Signs the user in and returns to the previous page, or signs them out. Runs in the browser.
import { ask, part, placeToGo, show, signIn, tell, whoIsHere } from "/sign-in/shared.js";

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
