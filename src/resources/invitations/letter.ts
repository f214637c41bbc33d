import { eq } from "drizzle-orm";
import type { Context } from "../../context.ts";
import { letterOf, oneLine } from "../../mail/letter.ts";
import { type Translate, textsFor } from "../../mail/texts.ts";
import { apiKeys } from "../api-keys/table.ts";
import { mail } from "../mail/service.ts";
import { organizations } from "../organizations/table.ts";
import { findUserByEmail } from "../users/service.ts";
import { users } from "../users/table.ts";
import type { InvitationRow } from "./table.ts";

/** Emails an invitation's link to its address. Returns null once it is sent, otherwise a sentence with the reason. */
export async function mailInvitation(
  ctx: Context,
  { email, role, createdBy }: InvitationRow,
  link: string,
): Promise<string | null> {
  const [organization] = await ctx.db
    .select({ name: organizations.name })
    .from(organizations)
    .where(eq(organizations.id, ctx.organizationId));
  const name = oneLine(organization?.name ?? "");
  const translate = textsFor((await findUserByEmail(ctx.db, email))?.locale ?? null);
  const inviter = oneLine(await inviterOf(ctx, createdBy, translate));
  const letter = letterOf(email, {
    subject: translate("Invitation to {name} on Weir", { name }),
    lines: [
      translate("Hello,"),
      translate('{inviter} invites you to join the organization "{name}" on Weir, with the role {role}.', {
        inviter,
        name,
        role,
      }),
    ],
    link: { label: translate("Accept the invitation"), url: link },
    foot: [
      translate(
        "The link is valid for seven days and can be used once. If you don't know the sender, ignore this email.",
      ),
    ],
  });
  const warning = await mail(ctx, letter, { key: ctx.organizationId, correlationId: ctx.correlationId });
  return warning && `${warning} Send the link yourself.`;
}

/** Returns a user's name and address, or the name of an API key. */
async function inviterOf({ db }: Context, id: string, translate: Translate): Promise<string> {
  const [user] = await db.select().from(users).where(eq(users.id, id));
  if (user) {
    const name = [user.firstName, user.lastName].filter(Boolean).join(" ");
    return name ? `${name} (${user.email})` : user.email;
  }
  const [key] = await db.select({ name: apiKeys.name }).from(apiKeys).where(eq(apiKeys.id, id));
  return translate('The API key "{name}"', { name: key?.name ?? id });
}
