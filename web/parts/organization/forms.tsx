import { useState } from "react";
import type { Reply } from "../../calls.ts";
import { useChange } from "../../data.ts";
import { switchTo } from "../../linked.ts";
import { t } from "../../texts/text.ts";
import { Check } from "../base/fields.tsx";
import { TextField } from "../base/labelled.tsx";
import { slugFromName } from "../base/texts.ts";
import { FormDialog } from "../form/dialog.tsx";
import { FormFrame, messagesBy } from "../form/frame.tsx";
import { draftOf, PlanFields, planChange } from "./plan-fields.tsx";

type Organization = Reply<"GET /api/v1/organizations/current">;
/** Names and plan, and for the largest plan a custom rate. */
export function OrganizationSettings({
  organization,
  onDirty,
}: {
  organization: Organization;
  onDirty: (isDirty: boolean) => void;
}) {
  const [draft, setDraft] = useState({
    name: organization.name,
    slug: organization.slug,
    ...draftOf(organization),
    requireFourEyes: organization.requireFourEyes,
  });
  const save = useChange("PATCH /api/v1/organizations/current", {
    touches: ["/organizations", "/memberships"],
    tellsErrors: false,
    done: t("Settings saved"),
    onDone: () => onDirty(false),
  });
  const messageFor = messagesBy(save.error);
  const put = (change: Partial<typeof draft>) => {
    setDraft({ ...draft, ...change });
    onDirty(true);
  };
  const body = {
    ...(draft.name === organization.name ? {} : { name: draft.name }),
    ...(draft.slug === organization.slug ? {} : { slug: draft.slug }),
    ...planChange(draft, organization),
    ...(draft.requireFourEyes === organization.requireFourEyes
      ? {}
      : { requireFourEyes: draft.requireFourEyes }),
  };
  return (
    <FormFrame
      title={t("Settings")}
      call={save}
      drawn={["name", "slug", "plan", "webhookRate.perMinute", "webhookRate.burst"]}
      isChanged={Object.keys(body).length > 0}
      onSend={() => save.mutate({ body })}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          label={t("Name")}
          isRequired
          value={draft.name}
          onChange={(name) => put({ name })}
          fault={messageFor("name")}
          maxLength={255}
        />
        <TextField
          label={t("Slug")}
          isRequired
          value={draft.slug}
          onChange={(slug) => put({ slug })}
          fault={messageFor("slug")}
          {...(draft.slug === organization.slug
            ? { about: t("Part of your webhook URLs.") }
            : { about: t("Changing the slug changes your webhook URLs. Update the senders.") })}
          maxLength={100}
        />
        <PlanFields draft={draft} onChange={put} messageFor={messageFor} />
      </div>
      <div className="mt-4">
        <Check
          label={t("Require a second person for approvals")}
          about={t("Users can't approve their own requests, or requests from runs they started.")}
          value={draft.requireFourEyes}
          onChange={(requireFourEyes) => put({ requireFourEyes })}
        />
      </div>
    </FormFrame>
  );
}

/** Asks for the name of a new organization, and opens it. */
export function NewOrganization({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [slug, setSlug] = useState("");
  const create = useChange("POST /api/v1/organizations", {
    touches: ["/memberships"],
    tellsErrors: false,
    onDone: ({ id }) => switchTo(id),
  });
  const messageFor = messagesBy(create.error);
  return (
    <FormDialog
      title={t("New organization")}
      verb={t("Create organization")}
      call={create}
      onClose={onClose}
      onSend={() => create.mutate({ body: { name, ...(slug ? { slug } : {}) } })}
    >
      <p className="text-soft">
        {t("Creates an empty organization that you own. Organizations can't see each other's data.")}
      </p>
      <TextField
        label={t("Name")}
        isRequired
        value={name}
        onChange={setName}
        fault={messageFor("name")}
        maxLength={255}
      />
      <TextField
        label={t("Slug")}
        value={slug}
        onChange={setSlug}
        fault={messageFor("slug")}
        placeholder={slugFromName()}
        maxLength={100}
      />
    </FormDialog>
  );
}
