package cli

import (
	"bytes"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// bashAlone has the functions that cobra's script takes from the bash-completion package, for a shell without it.
// Under the package's own names, they would tell other scripts that it is loaded.
const bashAlone = `
__tape_words()
{
    local line=${COMP_LINE:0:COMP_POINT}
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    cword=$((${#words[@]} - 1))
    cur=${words[cword]}
    prev=${words[cword - 1]}
}

__tape_filedir()
{
    if declare -F _filedir >/dev/null 2>&1; then
        _filedir "$@"
        return
    fi
    local action=-f name
    [[ $1 == -d ]] && action=-d
    compopt -o filenames 2>/dev/null
    while IFS='' read -r name; do
        COMPREPLY+=("$name")
    done < <(compgen "$action" -- "$cur")
}
`

// WriteBashCompletion writes the script that completes commands in bash.
func WriteBashCompletion(root *cobra.Command, w io.Writer, descriptions bool) error {
	var script bytes.Buffer
	if err := root.GenBashCompletionV2(&script, descriptions); err != nil {
		return err
	}
	alone := strings.NewReplacer(`_get_comp_words_by_ref "$@" cur prev words cword`, "__tape_words", "_filedir", "__tape_filedir")
	_, err := io.WriteString(w, alone.Replace(script.String())+bashAlone)
	return err
}
