import { carryOut, type Host, readArgs, UsageError } from "./host.ts";
import { type Usage, usage } from "./usage.ts";
import { listed } from "./verbs.ts";

/** `weir completion bash|zsh|fish`: a script for the shell, made of what `weir help` tells. */
export const completion = (args: readonly string[], host: Host) =>
  carryOut(host, usage.completion.line, async () => {
    const { positionals } = readArgs({ args: [...args], allowPositionals: true, options: {} });
    const [shell = "", ...more] = positionals;
    if (!isShell(shell) || more.length > 0)
      throw new UsageError(`Specify one shell: ${listed(Object.keys(SHELLS))}.`);
    host.out(SHELLS[shell](Object.entries(usage).map(([name, about]) => wordsOf(name, about))).trimEnd());
  });

interface Words {
  name: string;
  gist: string;
  /** What may come next: verbs, or words that the command's line offers. */
  verbs: readonly string[];
  flags: readonly string[];
}

const FLAG = /(?<![\w-])--[a-z][a-z-]*/g;

function wordsOf(name: string, about: Usage): Words {
  const lines = [about.line, ...Object.values(about.verbs ?? {}), about.text];
  const choices = about.line.matchAll(new RegExp(`weir ${name} ([a-z][a-z-|]*)`, "g"));
  const words =
    name === "help" ? Object.keys(usage) : [...choices].flatMap(([, choice = ""]) => choice.split("|"));
  const flags = new Set([...lines.flatMap((line) => line.match(FLAG) ?? []), "--help"]);
  return { name, gist: about.gist, verbs: words, flags: [...flags].sort() };
}

const bashScript = (commands: readonly Words[]) => `# bash completion of weir
_weir() {
  local word="\${COMP_WORDS[COMP_CWORD]}" verbs="" flags=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${commands.map(({ name }) => name).join(" ")}" -- "$word"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
${commands.map(({ name, verbs, flags }) => `    ${name}) verbs="${verbs.join(" ")}"; flags="${flags.join(" ")}" ;;`).join("\n")}
    *) return ;;
  esac
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$flags" -- "$word")) ;;
    @*) COMPREPLY=($(compgen -f -P @ -- "\${word#@}")) ;;
    *) if [ "$COMP_CWORD" -eq 2 ] && [ -n "$verbs" ]; then
         COMPREPLY=($(compgen -W "$verbs" -- "$word" || compgen -f -- "$word"))
       else
         COMPREPLY=($(compgen -f -- "$word"))
       fi ;;
  esac
}
complete -F _weir weir
`;

const zshScript = (commands: readonly Words[]) => `#compdef weir
# zsh completion of weir
_weir() {
  local -a commands verbs flags
  commands=(
${commands.map(({ name, gist }) => `    ${single(`${name}:${gist}`)}`).join("\n")}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case "$words[2]" in
${commands.map(({ name, verbs, flags }) => `    ${name}) verbs=(${verbs.join(" ")}); flags=(${flags.join(" ")}) ;;`).join("\n")}
  esac
  if [[ "$PREFIX" == -* ]]; then
    compadd -- $flags
  elif (( CURRENT == 3 )) && (( $#verbs )); then
    compadd -- $verbs || _files
  else
    _files
  fi
}
if [[ "$funcstack[1]" == "_weir" ]]; then _weir "$@"; else compdef _weir weir; fi
`;

const fishScript = (commands: readonly Words[]) =>
  [
    "# fish completion of weir",
    ...commands.flatMap(({ name, gist, verbs, flags }) => [
      `complete -c weir -n __fish_use_subcommand -f -a ${name} -d ${fishQuoted(gist)}`,
      ...(verbs.length === 0
        ? []
        : [
            `complete -c weir -n '__fish_seen_subcommand_from ${name}; and test (count (commandline -opc)) -eq 2' -f -a '${verbs.join(" ")}'`,
          ]),
      ...flags.map((flag) => `complete -c weir -n '__fish_seen_subcommand_from ${name}' -l ${flag.slice(2)}`),
    ]),
    "",
  ].join("\n");

const SHELLS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

const isShell = (word: string): word is keyof typeof SHELLS => Object.hasOwn(SHELLS, word);

/** In one word of bash and zsh. */
const single = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
const fishQuoted = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
