package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"tape/repo"
)

type completer = func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective)

// completeFlag sets how a flag's value is completed.
func (a *App) completeFlag(cmd *cobra.Command, flag string, f completer) {
	if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err) // the flag does not exist
	}
}

// refuseUnknownShells makes a shell that the library does not know an error.
func refuseUnknownShells(root *cobra.Command) {
	cmd, _, err := root.Find([]string{"completion"})
	if err != nil || cmd == root {
		return
	}
	cmd.Args = cobra.ArbitraryArgs
	cmd.DisableFlagsInUseLine = true
	cmd.Use = "completion SHELL"
	cmd.Short = "Write the script that completes tape's commands in a shell"
	cmd.Long = "Write the script that completes tape's commands in a shell: bash, zsh, fish or powershell.\n" +
		"tape completion SHELL --help says where the shell looks for it."
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usagef("there is no completion for %s", quoted(args[0]))
		}
		return cmd.Help()
	}
}

// completeWords offers a few words.
func completeWords(words ...string) completer {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

func completeKinds(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{repo.KindSystem, repo.KindMessage, repo.KindToolCall, repo.KindToolResult, repo.KindAnchor,
		repo.KindEvent, repo.KindError}, cobra.ShellCompDirectiveNoFileComp
}

// completeTapes offers the names of the workspace's tapes and forks.
func (a *App) completeTapes(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	store, err := a.openStore(cmd.Context())
	if err != nil {
		return nil, none
	}
	tapes, err := store.Tapes(cmd.Context())
	if err != nil {
		return nil, none
	}
	forks, _ := store.Forks(cmd.Context())
	var out []string
	for _, t := range append(tapes, forks...) {
		if offer(t.Name(), prefix) {
			out = append(out, t.Name())
		}
	}
	return out, none
}

// completeTapeArg offers tapes for a command's only argument.
func (a *App) completeTapeArg(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeTapes(cmd, args, prefix)
}

// completeAnchors offers the names of the tape's anchors.
func (a *App) completeAnchors(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	t, err := a.openTape(cmd.Context())
	if err != nil {
		return nil, none
	}
	phases, err := t.Phases(cmd.Context())
	if err != nil {
		return nil, none
	}
	out := []string{repo.Latest}
	for _, p := range phases {
		if offer(p.Name, prefix) {
			out = append(out, p.Name)
		}
	}
	return out, none
}

func (a *App) completeAnchorArg(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeAnchors(cmd, args, prefix)
}

// completeRemotes offers the names of remotes.
func (a *App) completeRemotes(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	store, err := a.openStore(cmd.Context())
	if err != nil {
		return nil, none
	}
	remotes, err := store.Remotes(cmd.Context())
	if err != nil {
		return nil, none
	}
	var out []string
	for _, r := range remotes {
		if offer(r.Name, prefix) {
			out = append(out, r.Name)
		}
	}
	return out, none
}

// completeRemoteArg offers remotes for a command's only argument.
func (a *App) completeRemoteArg(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeRemotes(cmd, args, prefix)
}

func (a *App) completeArchives(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	t, err := a.openTape(cmd.Context())
	if err != nil || len(args) > 0 {
		return nil, none
	}
	archives, err := t.Archives(cmd.Context())
	if err != nil {
		return nil, none
	}
	var out []string
	for _, archive := range archives {
		if offer(archive.Stamp, prefix) {
			out = append(out, archive.Stamp)
		}
	}
	return out, none
}

// offer reports whether a recorded name may be put on a command line: names that a
// terminal must not see, or that are absurdly long, may not.
func offer(name, prefix string) bool {
	return strings.HasPrefix(name, prefix) && len(name) <= 200 && safeLine(name) == name
}
