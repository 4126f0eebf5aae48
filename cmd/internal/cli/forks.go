package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tape/repo"
)

type forksOptions struct {
	app         *App
	closed, all bool
}

func newForksCmd(a *App) *cobra.Command {
	o := &forksOptions{app: a}
	cmd := &cobra.Command{
		Use:   "forks [--closed] [--all]",
		Short: "List the forks of the tape",
		Long: `List the open forks of the tape and the forks of those: where they begin, what they have
of their own, and when they were last written to.

With --closed, list the forks that were merged, summarized or discarded, the newest first,
with their last commit: tape show COMMIT shows what they held, git log COMMIT how it came
about. Git forgets discarded ones after a while, as it does all that only a reflog knows.`,
		Example: `  tape forks
  tape --tape main/try-redis forks
  tape forks --closed --all --json`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	cmd.Flags().BoolVar(&o.closed, "closed", false, "list those that were merged or discarded")
	cmd.Flags().BoolVarP(&o.all, "all", "a", false, "list the forks of all tapes")
	return cmd
}

// forkJSON is a fork in lists.
type forkJSON struct {
	Fork       string `json:"fork"`
	Name       string `json:"name"`
	Tape       string `json:"tape"`
	Branch     string `json:"branch"`
	Path       any    `json:"path"`
	Base       int64  `json:"base"`
	BaseAnchor string `json:"base_anchor"`
	Entries    int64  `json:"entries"`
	Commit     string `json:"commit"`
	Created    string `json:"created"`
	Updated    string `json:"updated"`
	Status     string `json:"status"`
	Into       any    `json:"into"`
}

func describeFork(f repo.ForkInfo) forkJSON {
	return forkJSON{Fork: f.Fork, Name: f.Name, Tape: f.Parent, Branch: f.Branch, Path: orNull(f.Dir), Base: f.Base.Entry,
		BaseAnchor: f.Base.Anchor, Entries: f.Entries, Commit: f.Commit, Created: f.Base.Date, Updated: f.Updated, Status: f.Status,
		Into: orNull(f.Into)}
}

func (o *forksOptions) run(ctx context.Context) error {
	a := o.app
	of, err := o.parents(ctx)
	if err != nil {
		return err
	}
	var list []repo.ForkInfo
	for _, t := range of {
		if o.closed {
			closed, err := t.ClosedForks(ctx)
			if err == nil {
				list, err = withClosed(ctx, t.Store(), list, closed)
			}
			if err != nil {
				return err
			}
		} else if t.IsFork() && (o.all || t != of[0]) {
			info, ok, err := a.forkInfo(ctx, t)
			if err != nil {
				return err
			}
			if ok {
				list = append(list, info)
			}
		}
	}
	if a.json {
		for _, f := range list {
			if err := a.emit(describeFork(f)); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list) == 0 {
		a.say("%s", o.none(of))
		return nil
	}
	a.page()
	if o.closed {
		a.closedForks(list)
		return nil
	}
	a.openForks(list)
	return nil
}

func (o *forksOptions) none(of []*repo.Tape) string {
	switch {
	case o.all && o.closed:
		return "no fork was closed yet"
	case o.all:
		return "there are no open forks"
	case o.closed:
		return "no fork of " + quoted(of[0].Name()) + " was closed yet"
	}
	return quoted(of[0].Name()) + " has no open forks"
}

// parents lists what may have forks that are asked for: the tape in hand and the forks
// below it, or all there are. What is a fork itself comes behind what it is a fork of.
func (o *forksOptions) parents(ctx context.Context) ([]*repo.Tape, error) {
	if !o.all {
		t, err := o.app.openTape(ctx)
		if err != nil {
			return nil, err
		}
		return withForks(ctx, t)
	}
	store, err := o.app.openStore(ctx)
	if err != nil {
		return nil, err
	}
	all, err := tapesAndForks(ctx, store)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b *repo.Tape) int { return strings.Compare(a.Name(), b.Name()) })
	return all, nil
}

// withForks is a tape and the open forks below it, also where what they are forks of is
// closed.
func withForks(ctx context.Context, t *repo.Tape) ([]*repo.Tape, error) {
	forks, err := t.Store().Forks(ctx)
	if err != nil {
		return nil, err
	}
	list := []*repo.Tape{t}
	for _, f := range forks {
		if strings.HasPrefix(f.Name(), t.Name()+"/") {
			list = append(list, f)
		}
	}
	slices.SortStableFunc(list, func(a, b *repo.Tape) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

// withClosed adds closed forks, and those that were merged into them.
func withClosed(ctx context.Context, store *repo.Store, list, closed []repo.ForkInfo) ([]repo.ForkInfo, error) {
	for _, f := range closed {
		inside, err := store.ForksOfClosed(ctx, f)
		if err != nil {
			return nil, err
		}
		if list, err = withClosed(ctx, store, append(list, f), inside); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// forkInfo describes an open fork. One that somebody has made a mess of must not hide the
// others: then ok is false.
func (a *App) forkInfo(ctx context.Context, f *repo.Tape) (info repo.ForkInfo, ok bool, err error) {
	info, err = f.ForkInfo(ctx)
	if err == nil || ctx.Err() != nil {
		return info, err == nil, err
	}
	if isFork(ctx, f.Store(), f.Name()) {
		a.warn(err.Error()) // else it was closed meanwhile
	}
	return info, false, nil
}

func (a *App) openForks(list []repo.ForkInfo) {
	current := ""
	if a.store != nil {
		current = a.store.CurrentTape()
	}
	table := newTable("", "FORK", ">ENTRIES", "BASE", "BEGUN", "UPDATED", "BRANCH")
	for _, f := range list {
		mark := ""
		if f.Name == current {
			mark = "*"
		}
		table.add(mark, f.Name, strconv.FormatInt(f.Entries, 10), baseText(f.Base), a.ago(f.Base.Date), a.ago(f.Updated), f.Branch)
	}
	table.write(a)
}

func (a *App) closedForks(list []repo.ForkInfo) {
	table := newTable("FORK", "STATUS", ">ENTRIES", "BASE", "CLOSED", "COMMIT", "INTO")
	for _, f := range list {
		table.add(f.Name, f.Status, strconv.FormatInt(f.Entries, 10), baseText(f.Base), a.ago(f.Updated), fmt.Sprintf("%.12s", f.Commit),
			fmt.Sprintf("%.12s", f.Into))
	}
	table.write(a)
}

// completeForks offers the open forks: those of the tape in hand by their own names, all
// others by their full ones.
func (a *App) completeForks(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 {
		return nil, none
	}
	store, err := a.openStore(cmd.Context())
	if err != nil {
		return nil, none
	}
	forks, err := store.Forks(cmd.Context())
	if err != nil {
		return nil, none
	}
	at := a.tapeInHand(store)
	var out []string
	for _, f := range forks {
		name := strings.TrimPrefix(f.Name(), at+"/")
		if offer(name, prefix) {
			out = append(out, name)
		} else if offer(f.Name(), prefix) {
			out = append(out, f.Name())
		}
	}
	return out, none
}
