import { useState } from "react";
import { switchTo } from "../../api.ts";
import type { Reply } from "../../calls.ts";
import { useChange } from "../../data.ts";
import { Check } from "../base/fields.tsx";
import { TextField } from "../base/labelled.tsx";
import { FormDialog } from "../form/dialog.tsx";
import { FormFrame, messagesBy } from "../form/frame.tsx";
import { draftOf, PlanFields, planChange } from "./plan-fields.tsx";

type Organization = Reply<"GET /api/v1/organizations/current">;
/** Names, plan, and for the largest plan a rate of its own. */
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
    done: "Saved",
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
      title="Settings"
      call={save}
      drawn={["name", "slug", "plan", "webhookRate.perMinute", "webhookRate.burst"]}
      isChanged={Object.keys(body).length > 0}
      onSend={() => save.mutate({ body })}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          label="Name"
          isRequired
          value={draft.name}
          onChange={(name) => put({ name })}
          fault={messageFor("name")}
          maxLength={255}
        />
        <TextField
          label="Slug"
          isRequired
          value={draft.slug}
          onChange={(slug) => put({ slug })}
          fault={messageFor("slug")}
          {...(draft.slug === organization.slug
            ? { about: "Stands in the addresses of webhooks." }
            : { about: "The addresses of webhooks change with it; tell whoever sends to the old ones." })}
          maxLength={100}
        />
        <PlanFields draft={draft} onChange={put} messageFor={messageFor} />
      </div>
      <div className="mt-4">
        <Check
          label="Require four eyes"
          about="Nobody approves what they asked for, or what a run asks that they started."
          value={draft.requireFourEyes}
          onChange={(requireFourEyes) => put({ requireFourEyes })}
        />
      </div>
    </FormFrame>
  );
}

/** Asks how a new one is called, and leads there. */
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
      title="New organization"
      verb="Create and go there"
      call={create}
      onClose={onClose}
      onSend={() => create.mutate({ body: { name, ...(slug ? { slug } : {}) } })}
    >
      <p className="text-soft">
        It begins empty, with you as its owner. What is in this one stays here, and nobody sees the one from
        the other.
      </p>
      <TextField
        label="Name"
        isRequired
        value={name}
        onChange={setName}
        fault={messageFor("name")}
        maxLength={255}
      />
      <TextField
        label="Slug"
        value={slug}
        onChange={setSlug}
        fault={messageFor("slug")}
        placeholder="made from the name"
        maxLength={100}
      />
    </FormDialog>
  );
}
