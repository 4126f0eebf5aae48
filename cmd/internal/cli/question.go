package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tape/internal/text/query"
)

// asQuestion changes the arguments of a search that is a question with flags of other programs in it, as in "tape search
// how did we fix the --watch flag": tape's own flags come first, then "--", and the rest are words.
func asQuestion(root *cobra.Command, args []string) []string {
	if len(args) < 4 || args[0] != "search" || slices.Contains(args, "--") {
		return args
	}
	cmd, _, err := root.Find(args[:1])
	if err != nil || cmd == root {
		return args
	}
	flags, words := args[:1:1], []string{}
	foreign := false
	for i := 1; i < len(args); i++ {
		arg := args[i]
		if !strings.HasPrefix(arg, "-") || arg == "-" {
			words = append(words, arg)
			continue
		}
		name, _, given := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		f := cmd.Flag(name)
		if !strings.HasPrefix(arg, "--") {
			f = shortFlag(cmd, name)
			given = given || len(name) > 1
		}
		switch {
		case f == nil && arg != "--help" && arg != "-h":
			foreign = true
			words = append(words, arg)
		case f != nil && f.NoOptDefVal == "" && !given && i+1 < len(args):
			flags = append(flags, arg, args[i+1])
			i++
		default:
			flags = append(flags, arg)
		}
	}
	if !foreign || !query.IsQuestion(strings.Join(words, " ")) {
		return args
	}
	return append(append(flags, "--"), words...)
}

// shortFlag returns the flag of one letter with which a name begins, such as n5, or nil. Letters that follow a flag without
// a value have to be flags, too.
func shortFlag(cmd *cobra.Command, name string) (first *pflag.Flag) {
	for i := range len(name) {
		f := cmd.Flags().ShorthandLookup(name[i : i+1])
		if f == nil {
			f = cmd.InheritedFlags().ShorthandLookup(name[i : i+1])
		}
		if first == nil {
			first = f
		}
		if f == nil || f.NoOptDefVal == "" {
			if f == nil {
				return nil
			}
			return first
		}
	}
	return first
}
