const MEANINGS: Readonly<Record<string, string>> = {
  limit: "Maximum number of items per page.",
  offset: "Number of items to skip.",
  cursor: "`nextCursor` of the previous page. Valid for 24 hours and for the same filters.",
  q: "Case-insensitive search text.",
  order: "Sort order: asc or desc.",
  sort_by: "Field to sort by.",
  layer: "Layer of the lake.",
  org_id: "ID or slug of the organization.",
  path: "Path in the external system.",
  name: "Name that people read.",
  displayName: "Name that people read.",
  inputJsonSchema: "JSON Schema of the inputs, `{{inputs.x}}` in the definition.",
  inputDefaults: "Values of inputs that are not given.",
  slug: "Name in URLs, files and commands; made of the name by default.",
  description: "Purpose.",
  email: "Email address.",
  password: "Password.",
  connectionId: "ID of the connection that is used.",
  templateId: "ID of the template that it was created from.",
  status: "Whether it is used.",
  kind: "Function.",
  type: "Which of them it is.",
  expiresInDays: "Days until it expires.",
  role: "Role in the organization.",
  isActive: "Whether it is used.",
  iconUrl: "Address of a picture.",
  input: "Any JSON; what the run is given, as its inputSchema or trigger has it.",
};

/** What a field or parameter without a description means: by its name, else the name in words. */
export function meaningOf(name: string): string {
  const known = MEANINGS[name];
  if (known !== undefined) return known;
  const words = name.replace(/_/g, " ").replace(/([a-z])([A-Z])/g, (_, a, b) => `${a} ${b.toLowerCase()}`);
  return words.endsWith(" id") ? `ID of the ${words.slice(0, -3)}.` : `The ${words}.`;
}
