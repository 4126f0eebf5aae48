package cli

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tape/repo"
)

// tapeJSON is a tape in lists.
type tapeJSON struct {
	Tape       string `json:"tape"`
	Entries    int64  `json:"entries"`
	Anchors    int    `json:"anchors"`
	LastAnchor string `json:"last_anchor"`
	Updated    string `json:"updated"`
	Current    bool   `json:"current"`

	Remotes []distanceJSON `json:"remotes,omitempty"` // in the list of all tapes, if there are any
}

func describeTape(ctx context.Context, t *repo.Tape, current string) (tapeJSON, error) {
	s, err := t.Summary(ctx)
	return tapeJSON{Tape: t.Name(), Entries: s.Entries, Anchors: s.Anchors, LastAnchor: s.LastAnchor,
		Updated: s.Updated, Current: t.Name() == current}, err
}

func newTapesCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "tapes",
		Short: "List the tapes of the workspace",
		Long: `List the tapes of the workspace; for each remote, how many entries of a tape are only here
(ahead) or only there (behind), as of the last push, fetch or pull.`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runTapes(cmd.Context()) },
	}
}

func (a *App) runTapes(ctx context.Context) error {
	store, err := a.openStore(ctx)
	if err != nil {
		return err
	}
	tapes, err := store.Tapes(ctx)
	if err != nil {
		return err
	}
	current := store.CurrentTape()
	remotes, err := store.Remotes(ctx)
	if err != nil {
		return err
	}
	head := []string{"", "TAPE", ">ENTRIES", ">PHASES", "UPDATED"}
	for _, r := range remotes {
		head = append(head, strings.ToUpper(r.Name))
	}
	table := newTable(append(head, "LAST ANCHOR")...)
	for _, t := range tapes {
		row, err := describeTape(ctx, t, current)
		if err != nil {
			return err
		}
		if len(remotes) > 0 {
			distances, err := t.Distances(ctx)
			if err != nil {
				return err
			}
			row.Remotes = describeDistances(distances)
		}
		if a.json {
			if err := a.emit(row); err != nil {
				return err
			}
			continue
		}
		mark := ""
		if row.Current {
			mark = "*"
		}
		cells := []string{mark, row.Tape, strconv.FormatInt(row.Entries, 10), strconv.Itoa(row.Anchors), a.ago(row.Updated)}
		for _, d := range row.Remotes {
			cells = append(cells, d.text())
		}
		table.add(append(cells, row.LastAnchor)...)
	}
	if !a.json {
		a.page()
		table.write(a)
		a.tellCurrentFork(ctx, store)
	}
	return nil
}

// tellCurrentFork is for lists of tapes, in which a fork is not marked as the current one.
func (a *App) tellCurrentFork(ctx context.Context, store *repo.Store) {
	if name := store.CurrentTape(); isFork(ctx, store, name) {
		a.say("the current one is the fork %s", quoted(name))
	}
}

func newSwitchCmd(a *App) *cobra.Command {
	var create bool
	cmd := &cobra.Command{
		Use:   "switch NAME [--create]",
		Short: "Make a tape the current one",
		Long: `Make a tape the one that commands mean by default in this workspace. No file moves.
A single command takes another tape with --tape, a whole shell with TAPE_NAME.`,
		Example: `  tape switch telegram:123
  tape switch --create experiment`,
		Args:              takes(1, "NAME"),
		ValidArgsFunction: a.completeTapeArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runSwitch(cmd.Context(), args[0], create)
		},
	}
	cmd.Flags().BoolVarP(&create, "create", "c", false, "create the tape if there is none of that name")
	return cmd
}

func (a *App) runSwitch(ctx context.Context, name string, create bool) error {
	store, err := a.openStore(ctx)
	if err != nil {
		return err
	}
	if name == "" {
		return usagef("the name of a tape must not be empty")
	}
	created := false
	if create {
		_, err := store.CreateTape(ctx, name)
		if err != nil && !errors.Is(err, repo.ErrConflict) {
			return err
		}
		created = err == nil
	}
	t, err := store.Switch(ctx, name)
	if err != nil {
		return err
	}
	row, err := describeTape(ctx, t, name)
	if err != nil {
		return err
	}
	if created {
		return a.result(row, "created tape %s and switched to it", quoted(name))
	}
	return a.result(row, "switched to tape %s", quoted(name))
}

func newNewCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "new NAME",
		Short: "Create a tape",
		Long:  `Create a tape, opened by the anchor session/start. The current tape stays the same.`,
		Example: `  tape new review
  tape new -- -odd-name`,
		Args: takes(1, "NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			store, err := a.openStore(ctx)
			if err != nil {
				return err
			}
			t, err := store.CreateTape(ctx, args[0])
			if err != nil {
				return err
			}
			row, err := describeTape(ctx, t, store.CurrentTape())
			if err != nil {
				return err
			}
			return a.result(row, "created tape %s", quoted(args[0]))
		},
	}
}
