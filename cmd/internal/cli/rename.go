package cli

import (
	"context"

	"github.com/spf13/cobra"

	"tape/internal/show/display"
	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/repo"
)

type renameOptions struct {
	app   *App
	title string
}

func newRenameCmd(a *App) *cobra.Command {
	o := &renameOptions{app: a}
	cmd := &cobra.Command{
		Use:   "rename [NAME] --title TITLE",
		Short: "Change the title of a session",
		Long: `Set the title that lists show for a session. An empty title restores the default: the one that the
agent gave, or the first thing that a person asked. The title is an entry of the session, so it is
pushed to remotes, too.

The name of a session cannot change: it is in each of its commits, which others may have.`,
		Example: `  tape rename --title "Retries for the upload"
  tape rename 3 --title "Login is slow"
  tape rename --title ""`,
		Args:              cobra.MaximumNArgs(2),
		ValidArgsFunction: upTo(1, a.completeTapes()),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				if _, err := o.tapeOf(cmd.Context(), args); err != nil {
					return err
				}
				return layout.Invalid("give it a title, which lists show instead: tape rename "+shellWord(args[0])+" --title "+shellWord(args[1]),
					"the name of a tape cannot be changed: it is in each of its commits")
			}
			if !cmd.Flags().Changed("title") {
				return usagef("--title is missing")
			}
			return o.run(cmd.Context(), args)
		},
	}
	cmd.Flags().StringVar(&o.title, "title", "", "the new `TITLE`; empty restores the default")
	return cmd
}

// tapeOf returns the tape that the first argument names, or the selected one.
func (o *renameOptions) tapeOf(ctx context.Context, args []string) (*repo.Tape, error) {
	if len(args) == 0 {
		return o.app.openTape(ctx)
	}
	o.app.tapeName = args[0]
	return o.app.openTape(ctx)
}

func (o *renameOptions) run(ctx context.Context, args []string) error {
	t, err := o.tapeOf(ctx, args)
	if err != nil {
		return err
	}
	if _, err := t.Append(ctx, nil, repo.Event(about.TitleEvent, marshal(object{{"title", o.title}}))); err != nil {
		return err
	}
	facts, err := o.app.aboutTape(ctx, t)
	if err != nil {
		return err
	}
	text := "has no title"
	if facts.Title != "" {
		text = "is called: " + display.Line(facts.Title)
	}
	return o.app.Result(object{{"tape", t.Name()}, {"title", orNull(facts.Title)}}, "tape %s %s", quoted(t.Name()), text)
}
