package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"tape/internal/show/display"
)

// changeCompletion changes cobra's command completion: the script for bash works without the bash-completion package, and
// a shell that is unknown is refused with an error.
func changeCompletion(root *cobra.Command, refuse func(shell string) error) {
	withoutPackage(root)
	cmd, _, err := root.Find([]string{"completion"})
	if err != nil || cmd == root {
		return
	}
	cmd.Args = cobra.ArbitraryArgs
	cmd.DisableFlagsInUseLine = true
	cmd.Use = "completion SHELL"
	cmd.Short = "Print the completion script for a shell"
	cmd.Long = "Print the completion script for a shell: bash, zsh, fish or powershell.\n" +
		"tape completion SHELL --help says where to put it."
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return refuse(args[0])
		}
		return cmd.Help()
	}
}

func withoutPackage(root *cobra.Command) {
	cmd, _, err := root.Find([]string{"completion", "bash"})
	if err != nil || cmd.Name() != "bash" {
		return
	}
	before, after, _ := strings.Cut(cmd.Long, "This script depends on the 'bash-completion' package.")
	if _, rest, ok := strings.Cut(after, "\n\n"); ok {
		cmd.Long = before + rest
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		plain, err := cmd.Flags().GetBool("no-descriptions")
		if err != nil {
			return err
		}
		return WriteBashCompletion(root, cmd.OutOrStdout(), !plain)
	}
}

// offers reports whether a recorded name can be completed: it has the prefix, is not absurdly long,
// and is safe to show.
func offers(name, prefix string) bool {
	return strings.HasPrefix(name, prefix) && len(name) <= 200 && display.Line(name) == name
}
