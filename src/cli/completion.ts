import { type Completions, completionTable } from "./completion-table.ts";
import { carryOut, type Host, readArgs, UsageError } from "./host.ts";
import { usage } from "./usage.ts";
import { listed } from "./verbs.ts";

/** `weir completion bash|zsh|fish`: a completion script for the shell, derived from the usage texts. */
export const completion = (args: readonly string[], host: Host) =>
  carryOut(host, usage.completion.line, async () => {
    const { positionals } = readArgs({ args: [...args], allowPositionals: true, options: {} });
    const [shell = "", ...more] = positionals;
    if (!isShell(shell) || more.length > 0)
      throw new UsageError(`Specify one shell: ${listed(Object.keys(SHELLS))}.`);
    host.out(SHELLS[shell](completionTable(usage)).trimEnd());
  });

// Each script scans the words before the cursor: a subcommand selects its entry of the table,
// and a flag's value is skipped.

const bashScript = (table: readonly Completions[]) => `# bash completion of weir
_weir_at() {
  next="" flags="" values=""
  case "$1" in
${table.map(({ path, next, flags, values }) => `    "${path}") next="${next.join(" ")}"; flags="${flags.join(" ")}"; values="${values.join(" ")}" ;;`).join("\n")}
  esac
}
_weir() {
  local word="\${COMP_WORDS[COMP_CWORD]}" place="" next flags values each at
  COMPREPLY=()
  _weir_at ""
  for ((at = 1; at < COMP_CWORD; at++)); do
    each="\${COMP_WORDS[at]}"
    if [[ " $values " == *" $each "* ]]; then at=$((at + 1))
    elif [[ "$each" == -* ]]; then :
    elif [[ " $next " == *" $each "* ]]; then place="\${place:+$place }$each"; _weir_at "$place"
    else next=""
    fi
  done
  if [ "$at" -gt "$COMP_CWORD" ]; then next="" flags=""; fi
  case "$word" in
    -?*) COMPREPLY=($(compgen -W "$flags" -- "$word" || :)) ;;
    @*) COMPREPLY=($(compgen -f -P @ -- "\${word#@}" || :)) ;;
    *) COMPREPLY=($(compgen -W "$next" -- "$word" || :))
       if [ -n "$place" ] && [ "\${#COMPREPLY[@]}" -eq 0 ]; then COMPREPLY=($(compgen -f -- "$word" || :)); fi ;;
  esac
}
complete -F _weir weir
`;

const zshScript = (table: readonly Completions[]) => `#compdef weir
# zsh completion of weir
_weir_at() {
  next=() flags=() values=()
  case "$1" in
${table.map(({ path, next, flags, values }) => `    "${path}") next=(${next.join(" ")}); flags=(${flags.join(" ")}); values=(${values.join(" ")}) ;;`).join("\n")}
  esac
}
_weir() {
  local -a commands next flags values
  local place="" each
  local -i at
  commands=(
${described()
  .map(([name, gist]) => `    ${single(`${name}:${gist}`)}`)
  .join("\n")}
  )
  _weir_at ""
  for ((at = 2; at < CURRENT; at++)); do
    each="$words[at]"
    if (( $values[(Ie)$each] )); then (( at++ ))
    elif [[ "$each" == -* ]]; then :
    elif (( $next[(Ie)$each] )); then place="\${place:+$place }$each"; _weir_at "$place"
    else next=()
    fi
  done
  if (( at > CURRENT )); then _files
  elif [[ "$PREFIX" == -* ]]; then compadd -- $flags
  elif [[ -z "$place" ]]; then _describe command commands
  elif (( $#next )); then compadd -- $next || _files
  else _files
  fi
}
if [[ "$funcstack[1]" == "_weir" ]]; then _weir "$@"; else compdef _weir weir; fi
`;

const fishScript = (table: readonly Completions[]) => `# fish completion of weir
function __weir_at
  set -g __weir_next
  set -g __weir_flags
  set -g __weir_values
  switch "$argv[1]"
${table.map(({ path, next, flags, values }) => `    case '${path}'; set -g __weir_next ${next.join(" ")}; set -g __weir_flags ${flags.join(" ")}; set -g __weir_values ${values.join(" ")}`).join("\n")}
  end
end
function __weir_complete
  set -l word (commandline -ct)
  set -l place ''
  set -l isValue no
  __weir_at ''
  for each in (commandline -opc)[2..-1]
    if test $isValue = yes
      set isValue no
    else if contains -- $each $__weir_values
      set isValue yes
    else if string match -q -- '-*' $each
      continue
    else if contains -- $each $__weir_next
      set place (string trim -- "$place $each")
      __weir_at "$place"
    else
      set -g __weir_next
    end
  end
  if test $isValue = yes
    __fish_complete_path $word
  else if string match -q -- '-*' $word
    printf '%s\\n' $__weir_flags
  else if test -z "$place"
${described()
  .map(([name, gist]) => `    printf '%s\\t%s\\n' ${name} ${fishQuoted(gist)}`)
  .join("\n")}
  else
    set -q __weir_next[1]; and printf '%s\\n' $__weir_next
    __fish_complete_path $word
  end
end
complete -c weir -f -a '(__weir_complete)'
`;

const described = () => Object.entries(usage).map(([name, { gist }]) => [name, gist] as const);

const SHELLS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

const isShell = (word: string): word is keyof typeof SHELLS => Object.hasOwn(SHELLS, word);

/** Quotes a word for bash and zsh. */
const single = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
const fishQuoted = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
