package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tape/internal/store/about"
	"tape/repo"
)

func newStarCmd(a *App) *cobra.Command {
	remove := false
	cmd := &cobra.Command{
		Use:   "star NAME... [--remove] [-A]",
		Short: "Give sessions a star",
		Long: `Give sessions a star, or take it away with --remove. Lists show it before the title, and tape tapes
--starred lists these sessions only. A star is an entry of the session, so it is pushed to remotes.`,
		Example: `  tape star 3
  tape star 3 --remove
  tape tapes --starred`,
		SuggestFor:        []string{"favorite", "favourite", "bookmark", "pin", "unstar"},
		Args:              takes(1, "NAME", "NAME…"),
		ValidArgsFunction: a.completeTapes(),
		RunE: func(cmd *cobra.Command, args []string) error {
			tapes, err := a.tapesNamed(cmd.Context(), args)
			if err != nil {
				return err
			}
			for _, t := range tapes {
				facts, err := a.label(cmd.Context(), t, func(was about.Tape) (repo.Draft, bool, error) {
					return repo.Event(about.StarEvent, about.StarData(!remove)), was.Starred == remove, nil
				})
				if err != nil {
					return err
				}
				if err := a.Result(labels(t, facts), "tape %s %s", quoted(t.Name()), map[bool]string{true: "has a star", false: "has no star"}[facts.Starred]); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "take the star away")
	a.addAllWorkspaces(cmd)
	return cmd
}

func newTagCmd(a *App) *cobra.Command {
	remove := false
	cmd := &cobra.Command{
		Use:   "tag NAME [TAG...] [--remove] [-A]",
		Short: "Give a session tags",
		Long: `Give a session tags, or take them away with --remove; without a tag, show those that it has. A tag is
one word without commas, kept in lower case. tape tapes --tag TAG lists the sessions that have it.
Tags are entries of the session, so they are pushed to remotes. They are not tags of git: those are
the session's handoffs.`,
		Example: `  tape tag 3 release wip
  tape tag 3 wip --remove
  tape tapes --tag release`,
		SuggestFor:        []string{"label", "untag"},
		Args:              takes(1, "NAME", "TAG…"),
		ValidArgsFunction: upTo(1, a.completeTapes()),
		RunE: func(cmd *cobra.Command, args []string) error {
			if remove && len(args) == 1 {
				return usagef("--remove needs the tags to take away")
			}
			return a.runTag(cmd.Context(), args[0], args[1:], remove)
		},
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "take the tags away")
	a.addAllWorkspaces(cmd)
	return cmd
}

func (a *App) runTag(ctx context.Context, name string, tags []string, remove bool) error {
	add, gone := tags, []string(nil)
	if remove {
		add, gone = nil, tags
	}
	for _, tag := range tags { // before anything else, so that a slip does not need the session
		if _, err := about.TagOf(tag); err != nil {
			return err
		}
	}
	a.reads = len(tags) == 0
	tapes, err := a.tapesNamed(ctx, []string{name})
	if err != nil {
		return err
	}
	t := tapes[0]
	facts, err := a.label(ctx, t, func(was about.Tape) (event repo.Draft, changes bool, err error) {
		changes = slices.ContainsFunc(tags, func(tag string) bool { return was.HasTags([]string{tag}) == remove })
		data, err := was.TagData(add, gone)
		return repo.Event(about.TagEvent, data), changes, err
	})
	if err != nil {
		return err
	}
	text := "has no tags"
	if len(facts.Tags) > 0 {
		text = "has the tag " + facts.Tags[0]
		if len(facts.Tags) > 1 {
			text = "has the tags " + strings.Join(facts.Tags, ", ")
		}
	}
	return a.Result(labels(t, facts), "tape %s %s", quoted(t.Name()), text)
}

// label appends an event that says what people call a tape, if it changes something, and returns what the tape is about
// then.
func (a *App) label(ctx context.Context, t *repo.Tape, change func(was about.Tape) (repo.Draft, bool, error)) (about.Tape, error) {
	facts, err := a.aboutTape(ctx, t)
	if err != nil {
		return facts, err
	}
	event, changes, err := change(facts)
	if err != nil || !changes {
		return facts, err
	}
	if _, err := t.Append(ctx, nil, event); err != nil {
		return facts, err
	}
	return a.aboutTape(ctx, t)
}

// tapesNamed returns the tapes of these names, all of them before anything is done with one.
func (a *App) tapesNamed(ctx context.Context, names []string) (tapes []*repo.Tape, err error) {
	for _, name := range names {
		var t *repo.Tape
		if a.everywhere {
			a.tapeName = name
			t, err = a.openEverywhere(ctx)
		} else {
			a.tapeName = name
			t, err = a.openTape(ctx)
		}
		if err != nil {
			return nil, err
		}
		tapes = append(tapes, t)
	}
	return tapes, nil
}

func labels(t *repo.Tape, facts about.Tape) object {
	return object{{"tape", t.Name()}, {"title", orNull(facts.Title)}, {"starred", facts.Starred}, {"tags", append([]string{}, facts.Tags...)}}
}
