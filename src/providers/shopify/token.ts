import { AppError } from "../../base/errors.ts";
import { accessToken } from "../api/access-token.ts";
import { postForToken } from "../api/oauth-token.ts";
import { type ShopifyLink, shopOf, tokenUrlOf } from "./shape.ts";

/** The shop's token: a configured one, or one issued to the app for 24 hours; see `accessToken`. */
export async function shopToken(
  link: ShopifyLink,
  options: { refused?: string; isFresh?: boolean } = {},
): Promise<string> {
  const { accessToken: stored, clientId, clientSecret } = link.credentials;
  if (stored) return stored;
  if (!clientId || !clientSecret)
    throw new AppError("definition_invalid", "Shopify needs accessToken, or clientId and clientSecret.");
  const shop = shopOf(link.config);
  const wrong = `Shopify rejected clientId and clientSecret for ${shop}.`;
  const fault = `${wrong} Store the correct ones, and install the app in the shop, then verify the connection.`;
  const issue = () =>
    postForToken(link, {
      url: tokenUrlOf(link.config),
      form: { grant_type: "client_credentials", client_id: clientId, client_secret: clientSecret },
      faults: {
        ...{ invalid_client: fault, unauthorized_client: fault, application_cannot_be_found: fault },
        shop_not_permitted: `The app can't get tokens for ${shop}: it must belong to the same organization as the shop.`,
      },
    });
  return accessToken(link, issue, options);
}

/** Whether a rejected token can be replaced. */
export const isRenewable = ({ credentials }: ShopifyLink): boolean => !credentials.accessToken;
