package cli

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tape/internal/sessions/filter"
	"tape/internal/store/layout"
	"tape/repo"
)

const (
	groupCore      = "Record and read:"
	groupTapes     = "Sessions:"
	groupForks     = "Forks:"
	groupRemotes   = "Share with others:"
	groupExchange  = "Import and export:"
	groupAgents    = "Agents:"
	groupWorkspace = "Workspace:"
)

type command struct {
	name  string
	group string
	make  func(*App) *cobra.Command
}

func commands() []command {
	return append(hostCommands(), []command{
		{"init", groupCore, newInitCmd},
		{"append", groupCore, newAppendCmd},
		{"handoff", groupCore, newHandoffCmd},
		{"commit", groupCore, newCommitCmd},
		{"log", groupCore, newLogCmd},
		{"diff", groupCore, newDiffCmd},
		{"show", groupCore, newShowCmd},
		{"anchors", groupCore, newAnchorsCmd},
		{"artifact", groupCore, newArtifactCmd},
		{"search", groupCore, newSearchCmd},
		{"blame", groupCore, newBlameCmd},
		{"review", groupCore, newReviewCmd},
		{"files", groupCore, newFilesCmd},
		{"digest", groupCore, newDigestCmd},
		{"stats", groupCore, newStatsCmd},
		{"between", groupCore, newBetweenCmd},
		{"context", groupCore, newContextCmd},
		{"resume", groupCore, newResumeCmd},
		{"info", groupCore, newInfoCmd},
		{"tapes", groupTapes, newTapesCmd},
		{"switch", groupTapes, newSwitchCmd},
		{"new", groupTapes, newNewCmd},
		{"rename", groupTapes, newRenameCmd},
		{"star", groupTapes, newStarCmd},
		{"tag", groupTapes, newTagCmd},
		{"rm", groupTapes, newRmCmd},
		{"reset", groupTapes, newResetCmd},
		{"archives", groupTapes, newArchivesCmd},
		{"restore", groupTapes, newRestoreCmd},
		{"purge", groupTapes, newPurgeCmd},
		{"fork", groupForks, newForkCmd},
		{"forks", groupForks, newForksCmd},
		{"merge", groupForks, newMergeCmd},
		{"discard", groupForks, newDiscardCmd},
		{"run-fork", groupForks, newRunForkCmd},
		{"remote", groupRemotes, newRemoteCmd},
		{"clone", groupRemotes, newCloneCmd},
		{"push", groupRemotes, newPushCmd},
		{"pull", groupRemotes, newPullCmd},
		{"fetch", groupRemotes, newFetchCmd},
		{"share", groupRemotes, newShareCmd},
		{"import", groupExchange, newImportCmd},
		{"export", groupExchange, newExportCmd},
		{"record", groupAgents, newRecordCmd},
		{"workspaces", groupWorkspace, newWorkspacesCmd},
		{"index", groupWorkspace, newIndexCmd},
		{"verify", groupWorkspace, newVerifyCmd},
		{"gc", groupWorkspace, newGCCmd},
		{"git", groupWorkspace, newGitCmd},
		{"textconv", groupWorkspace, newTextconvCmd},
		{"merge-driver", groupWorkspace, newMergeDriverCmd},
		{"hook", groupWorkspace, newHookCmd},
		{"config", groupWorkspace, newConfigCmd},
		{"version", groupWorkspace, newVersionCmd},
	}...)
}

// Root returns the whole tree of commands, to generate documentation from.
func Root(a *App) *cobra.Command { return newRoot(a, nil) }

// newRoot builds the tree of commands. If the arguments begin with a command's name, it builds only that
// command; for --version it builds none. This saves time, because tape is started for each entry.
func newRoot(a *App, args []string) *cobra.Command {
	root := newRootCmd(a)
	add := func(c command) *cobra.Command {
		cmd := c.make(a)
		cmd.GroupID = c.group
		addCommands(root, cmd)
		return cmd
	}
	all := commands()
	if a.Host != nil {
		both := []string{"export", "import", "resume", "version", "search", "tapes", "log", "show", "review"} // version, and those with flags that need tape-host
		all = append(hostCommands(), slices.DeleteFunc(commands(), func(c command) bool { return !slices.Contains(both, c.name) })...)
	}
	if len(args) > 0 && args[0] == "--version" {
		return root
	}
	for _, c := range all {
		if len(args) > 0 && c.name == args[0] {
			root.CompletionOptions.DisableDefaultCmd = true
			add(c)
			return root
		}
	}
	for _, c := range all {
		a.completeFlags(add(c))
	}
	root.AddCommand(helpTopics()...)
	root.SetHelpCommand(newHelpCmd())
	root.InitDefaultCompletionCmd(args...)
	changeCompletion(root, func(shell string) error { return usagef("there is no completion for %s", quoted(shell)) })
	completeFlag(root, "tape", a.completeTapes())
	return root
}

func newRootCmd(a *App) *cobra.Command {
	version := false
	root := &cobra.Command{
		Use:   "tape [--workspace DIR] [--tape NAME] [--json] COMMAND",
		Short: "Record agent sessions as append-only tapes in git",
		Long: `tape keeps the sessions of AI agents in git.

A session is a tape: messages, tool calls, results and events, in the order in which
they happened. Anchors divide it into phases. A workspace is a git repository; a phase is
a folder of JSON lines; a handoff is a tagged commit. Look at it with tape, or with ls,
cat, git log and git diff.

On a terminal, tape alone lists your sessions to choose one: type to filter, Enter shows its log,
c copies the command that goes on with it.`,
		Example: `  tape import
  tape tapes
  tape log 1
  tape search timeout --all-tapes`,
		Args:                  cobra.ArbitraryArgs,
		SilenceErrors:         true,
		SilenceUsage:          true,
		DisableFlagsInUseLine: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			a.command, a.reads = cmd.CommandPath(), onlyReads(cmd)
			return cmp.Or(refuseExcluding(cmd), refuseEmpty(cmd))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			if version {
				return a.showVersion()
			}
			return a.runAlone(cmd)
		},
	}
	root.Flags().BoolVar(&version, "version", false, "print the version of tape")
	flags := root.PersistentFlags()
	flags.StringVar(&a.workspace, "workspace", "", "use the workspace in `DIR` (default: $TAPE_WORKSPACE, or that of the current directory)")
	flags.StringVar(&a.tapeName, "tape", "", "use the tape `NAME`, or fork TAPE/NAME (default: $TAPE_NAME, or the workspace's current tape)")
	flags.BoolVar(&a.JSON, "json", false, "write results and errors as JSON")
	flags.BoolVarP(&a.Quiet, "quiet", "q", false, "print only results, errors and questions")
	flags.BoolVar(&a.NoPager, "no-pager", false, "show long output without a pager")
	flags.BoolVarP(&a.Verbose, "verbose", "v", false, "say more on standard error")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(showHelp)
	groups := []string{groupCore, groupTapes, groupForks, groupRemotes, groupExchange, groupAgents, groupWorkspace}
	if a.Host != nil {
		root.Long, root.Example = "tape-host is the part of tape that keeps running, and that makes pages of HTML. tape starts it: there is no need to call it.", ""
		groups = slices.Delete(groups, 2, 3) // it has no command for forks
	}
	for _, group := range groups {
		root.AddGroup(&cobra.Group{ID: group, Title: group})
	}
	root.SetCompletionCommandGroupID(groupWorkspace)
	return root
}

// addCommands adds commands. A command without Args takes no arguments.
func addCommands(cmd *cobra.Command, list ...*cobra.Command) {
	for _, c := range list {
		plainUsage(c)
		if c.Args == nil {
			c.Args = takes(0)
		}
		cmd.AddCommand(c)
	}
}

// plainUsage keeps [flags] out of the usage of a command and of those below it, and cobra's words out of what is said of
// their arguments.
func plainUsage(c *cobra.Command) {
	c.DisableFlagsInUseLine = true
	if check := c.Args; check != nil {
		c.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			switch {
			case err == nil || errors.Is(err, repo.ErrInvalid):
				return err
			case len(args) == 0:
				return usagef("an argument is missing")
			}
			return usagef("unexpected argument %q", args[len(args)-1])
		}
	}
	for _, sub := range c.Commands() {
		plainUsage(sub)
	}
}

// addSubcommands adds the commands of a command that takes no other arguments.
func addSubcommands(cmd *cobra.Command, list ...*cobra.Command) {
	addCommands(cmd, list...)
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			names := namesOf(list, (*cobra.Command).Name)
			return usagef("tape %s has no command %s: it is %s or %s", cmd.Name(), quoted(args[0]), strings.Join(names[:len(names)-1], ", "), names[len(names)-1])
		}
		return nil
	}
	if cmd.RunE == nil {
		cmd.RunE = func(*cobra.Command, []string) error { return usagef("COMMAND is missing") }
	}
}

// flagError turns an error of the library into a usage error, without the names of Go's functions.
// For an argument that looks like a flag, it says how to write it.
func flagError(cmd *cobra.Command, err error) error {
	msg := err.Error()
	if i := strings.Index(msg, ": strconv."); i >= 0 {
		msg = msg[:i] + ": not a number"
	}
	out := &cliError{class: repo.ErrInvalid, msg: msg, usage: true}
	if strings.HasPrefix(msg, "unknown shorthand") && strings.HasSuffix(cmd.Use, "QUERY") {
		out.hint = "put -- before a query that begins with a dash"
	} else if msg == "unknown flag: --graph" {
		out.hint = "in the workspace's folder, which tape info names: git log --graph --oneline --branches"
	}
	return out
}

// refuseExcluding refuses flags that MarkFlagsMutuallyExclusive has as a group. cobra would refuse them
// later, in longer words, and not as an error of usage.
func refuseExcluding(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		for _, group := range f.Annotations["cobra_annotation_mutually_exclusive"] {
			for other := range strings.FieldsSeq(group) {
				if err == nil && other != f.Name && cmd.Flags().Changed(other) {
					err = usagef("--%s and --%s exclude each other", f.Name, other)
				}
			}
		}
	})
	return err
}

// exclude makes a group of one flag with each of the others, which may be given together.
func exclude(cmd *cobra.Command, flag string, others ...string) {
	for _, other := range others {
		cmd.MarkFlagsMutuallyExclusive(flag, other)
	}
}

// refuseEmpty refuses empty values of flags that select something: an unset variable in a script must
// not select everything.
func refuseEmpty(cmd *cobra.Command) error {
	var empty string
	selects := []string{"workspace", "tape", "at", "anchor", "after", "commit", "file", "from", "to", "date", "output", "remote", "allow-secret",
		"project", "agent", "grep", "again", "in", "by", "branch", "push"}
	for _, name := range filter.Names() {
		selects = append(selects, strings.TrimPrefix(filter.AsFlag(name), "--"))
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if value := f.Value.String(); slices.Contains(selects, f.Name) && (value == "" || value == "[]" || value == `[""]`) {
			empty = f.Name
		}
	})
	if empty != "" {
		return usagef("--%s is empty", empty)
	}
	return nil
}

func unknownCommand(root *cobra.Command, name string) error {
	root.SuggestionsMinimumDistance = 2
	near := slices.DeleteFunc(root.SuggestionsFor(name), func(s string) bool {
		return name == "" || len(s) < 3 && s[0] != name[0] // short names are similar to everything
	})
	var meant []string // commands that other programs call by this name
	for _, cmd := range root.Commands() {
		if slices.Contains(cmd.SuggestFor, name) {
			meant = append(meant, cmd.Name())
		}
	}
	if len(meant) > 0 {
		near = meant
	}
	hint := "usage: " + root.UseLine()
	if len(near) > 0 {
		hint = "did you mean: tape " + strings.Join(near, ", tape ")
	}
	return layout.Invalid(hint+"\ntape help lists the commands", "there is no command %s", quoted(name))
}
