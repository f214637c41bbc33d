/** Display name of a user: the name, otherwise the email address. */
export const personName = (person: {
  email: string;
  firstName: string | null;
  lastName: string | null;
}): string => [person.firstName, person.lastName].filter(Boolean).join(" ") || person.email;
