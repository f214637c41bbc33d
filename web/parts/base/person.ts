/** How a person is called: by name, else by address. */
export const personName = (person: {
  email: string;
  firstName: string | null;
  lastName: string | null;
}): string => [person.firstName, person.lastName].filter(Boolean).join(" ") || person.email;
