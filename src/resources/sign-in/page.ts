import { fileOperation } from "../../http/page.ts";
import style from "./setup-page.css" with { type: "text" };
import script from "./setup-page.js" with { type: "text" };

const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>Set up Weir</title>
<link rel="stylesheet" href="/setup/setup.css">
<script src="/setup/setup.js" defer></script>
</head>
<body>
<main>
<h1>Set up Weir</h1>
<p>You become the owner of the first organization.</p>
<form>
<label>Email <input name="email" type="email" required autocomplete="username"></label>
<label>Password, at least 12 characters <input name="password" type="password" required minlength="12" autocomplete="new-password"></label>
<label>First name <input name="firstName" autocomplete="given-name"></label>
<label>Last name <input name="lastName" autocomplete="family-name"></label>
<label>Organization <input name="organizationName" required autocomplete="organization"></label>
<button>Make it mine</button>
</form>
<div id="told" role="status"></div>
<noscript><p>This page needs scripts. Without a browser: weir init</p></noscript>
</main>
</body>
</html>
`;

/** The page that the set-up link opens; the token in the link does the rest. */
export const setupPageOperations = [
  fileOperation("/setup", "The page that the set-up link opens", html, "text/html"),
  fileOperation("/setup/setup.js", "The script of the set-up page", script, "text/javascript"),
  fileOperation("/setup/setup.css", "The style of the set-up page", style, "text/css"),
];
