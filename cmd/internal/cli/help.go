package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tape/internal/store/layout"
	"tape/repo"
)

func helpTopics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "exit-codes", Short: "The exit codes", Long: exitCodesHelp()},
		{Use: "environment", Short: "The environment variables", Long: environmentHelp()},
	}
}

// newHelpCmd explains commands and topics. Unlike cobra's help command, it fails for an unknown name.
func newHelpCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND | TOPIC]",
		Short: "Explain a command or a topic",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, c := range cmd.Root().Commands() {
				if len(args) == 0 && strings.HasPrefix(c.Name(), prefix) && !c.Hidden {
					names = append(names, c.Name())
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return layout.Invalid("tape help lists what there is", "there is no help for %s", quoted(strings.Join(args, " ")))
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
		GroupID:               groupWorkspace,
		DisableFlagsInUseLine: true,
	}
}

func exitCodesHelp() string {
	var b strings.Builder
	b.WriteString("Exit codes, and the names of errors with --json:\n\n")
	line := func(code int, name, meaning string) { fmt.Fprintf(&b, "  %3d  %-12s %s\n", code, name, meaning) }
	line(exitOK, "", "done; finding nothing is not an error")
	codes := exitCodes()
	slices.SortStableFunc(codes, func(a, b exitCode) int { return a.code - b.code })
	for _, c := range codes {
		line(c.code, c.name, c.meaning)
	}
	b.WriteString("\nErrors go to standard error: as \"tape: error: …\", then \"tape: hint: …\" where there is\n" +
		"advice; with --json as {\"error\":{\"code\":\"…\",\"message\":\"…\",\"hint\":\"…\"}}.")
	return b.String()
}

func environmentHelp() string {
	vars := [][2]string{
		{repo.EnvHome, "where the workspaces of all directories live (default ~/.tape)"},
		{repo.EnvWorkspace, "the workspace to use, where --workspace is not given"},
		{envTape, "the tape, or fork TAPE/NAME, to use, where --tape is not given"},
		{"TAPE_AUTHOR", "who commits, as \"Name <mail>\" (default: git's user.name and user.email)"},
		{"TAPE_PAGER, PAGER", "the program that shows long output on a terminal (default less); cat: none"},
		{"NO_COLOR", "if set to anything, no colours"},
	}
	var b strings.Builder
	b.WriteString("Environment variables:\n\n")
	for _, v := range vars {
		fmt.Fprintf(&b, "  %-18s %s\n", v[0], v[1])
	}
	b.WriteString("\nThe workspace is found in this order: --workspace, TAPE_WORKSPACE, the current\n" +
		"directory and its parents (one that is a workspace, or has one below TAPE_HOME).")
	return b.String()
}
