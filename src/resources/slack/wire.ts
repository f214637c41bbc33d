import { Type } from "@sinclair/typebox";
import { instant, named, object } from "../../base/shape.ts";

export const LinkQuery = object({ token: named(500) });

export const LinkPreview = object({
  provider: Type.Literal("slack"),
  teamName: Type.String(),
  userName: Type.String(),
  expiresAt: instant(),
});

export const Linked = object({
  linked: Type.Literal(true),
  provider: Type.Literal("slack"),
  teamId: Type.String(),
  chatUserId: Type.String(),
});
