import type { BuiltIn } from "../contract.ts";
import { connectionTemplate } from "./contract.ts";
import { github, githubSignIn } from "./github.ts";
import { linear } from "./linear.ts";
import { stripe } from "./stripe.ts";

/** The services that a connection template ships for. */
export const services: readonly BuiltIn[] = [github, githubSignIn, linear, stripe].map(connectionTemplate);
