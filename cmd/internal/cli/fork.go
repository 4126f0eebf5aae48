package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tape/repo"
)

type forkOptions struct {
	app  *App
	at   string
	move bool
}

func newForkCmd(a *App) *cobra.Command {
	o := &forkOptions{app: a}
	cmd := &cobra.Command{
		Use:   "fork NAME [--at ANCHOR|@ID] [--switch]",
		Short: "Begin a fork of the tape",
		Long: `Begin a fork: a branch off the tape that is read and written like a tape of its own, and
later merged back or discarded. It begins at the tape's end, or with --at behind an
earlier anchor (its name, number, folder or tag) or entry (@17).

A fork is called PARENT/NAME wherever a tape is. Use it for one command with --tape, for
a shell with TAPE_NAME, or until further notice with --switch. A fork of a fork is made
by naming that one with --tape.`,
		Example: `  tape fork try-redis
  tape --tape main/try-redis append --role assistant --text "redis it is"
  tape fork second-try --at plan --switch
  tape --tape main/try-redis fork cluster`,
		Args: takes(1, "NAME"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0]) },
	}
	cmd.Flags().StringVar(&o.at, "at", "", "begin behind this `ANCHOR` or entry (@ID)")
	cmd.Flags().BoolVar(&o.move, "switch", false, "make the fork the current tape")
	a.completeFlag(cmd, "at", a.completeAnchors)
	return cmd
}

// forkStartJSON is a fork that has just been made.
type forkStartJSON struct {
	Fork       string `json:"fork"`
	Tape       string `json:"tape"`
	Name       string `json:"name"`
	Branch     string `json:"branch"`
	Path       any    `json:"path"`
	Base       int64  `json:"base"`
	BaseAnchor string `json:"base_anchor"`
	Current    bool   `json:"current"`
}

func (o *forkOptions) run(ctx context.Context, name string) error {
	a := o.app
	t, err := a.openTape(ctx)
	if err != nil {
		return err
	}
	f, base, err := forkTape(ctx, t, name, o.at)
	if err != nil {
		return err
	}
	if o.move {
		if _, err := t.Store().Switch(ctx, f.Name()); err != nil {
			return err
		}
	}
	if a.json {
		return a.emit(forkStartJSON{Fork: f.ForkName(), Tape: f.Parent(), Name: f.Name(), Branch: f.Branch(), Path: orNull(f.WorkTree()),
			Base: base.Entry, BaseAnchor: base.Anchor, Current: f.Name() == t.Store().CurrentTape()})
	}
	a.say("forked %s at %s: %s", quoted(t.Name()), baseText(base), quoted(f.Name()))
	word := shellWord(f.Name())
	if o.move {
		a.say("it is the current tape now; tape switch %s goes back", shellWord(t.Name()))
	} else if offer(f.Name(), "") {
		a.say("use it with: tape --tape %s COMMAND, or: export TAPE_NAME=%s", word, word)
	}
	return nil
}

// forkTape makes a fork and tells where it begins.
func forkTape(ctx context.Context, t *repo.Tape, name, at string) (*repo.Tape, repo.Base, error) {
	f, err := t.ForkAt(ctx, name, at)
	if err != nil {
		return nil, repo.Base{}, err
	}
	base, err := f.Base(ctx)
	return f, base, err
}

// baseText says where a fork begins.
func baseText(b repo.Base) string {
	return fmt.Sprintf("@%d (%s)", b.Entry, truncate(safeLine(b.Anchor), maxCell))
}

// openFork finds the open fork that a command is given: a fork of the tape in hand, else
// one by its full name.
func (a *App) openFork(ctx context.Context, name string) (*repo.Tape, error) {
	store, err := a.openStore(ctx)
	if err != nil {
		return nil, err
	}
	at := a.tapeInHand(store)
	f, err := store.Tape(ctx, at+"/"+name)
	if err == nil && f.IsFork() {
		return f, nil
	}
	if err != nil && !errors.Is(err, repo.ErrNotFound) {
		return nil, err
	}
	f, fullErr := store.Tape(ctx, name)
	switch {
	case fullErr == nil && f.IsFork():
		return f, nil
	case fullErr == nil:
		return nil, invalidf("tape forks lists the forks", "%s is a tape, not a fork", quoted(name))
	case !errors.Is(fullErr, repo.ErrNotFound):
		return nil, fullErr
	}
	if _, err := store.Tape(ctx, at); err != nil && !strings.Contains(name, "/") {
		return nil, err // the tape itself is missing
	}
	return nil, &cliError{class: repo.ErrNotFound, msg: fmt.Sprintf("there is no open fork %s of %s", quoted(name), quoted(at)),
		hint: a.forkHint(ctx, store, at, name)}
}

// isFork reports whether a name is that of an open fork.
func isFork(ctx context.Context, store *repo.Store, name string) bool {
	t, err := store.Tape(ctx, name)
	return err == nil && t.IsFork()
}

// tapeInHand is the name of the tape or fork that commands mean.
func (a *App) tapeInHand(store *repo.Store) string {
	if name := a.wantedTape(); name != "" {
		return name
	}
	return store.CurrentTape()
}

// forkHint is for who names a fork that is not of the tape in hand, but of what that is
// a fork of.
func (a *App) forkHint(ctx context.Context, store *repo.Store, at, name string) string {
	for {
		i := strings.LastIndexByte(at, '/')
		if i < 0 {
			return "tape forks lists those that are open, tape forks --closed the others"
		}
		at = at[:i]
		if full := at + "/" + name; isFork(ctx, store, full) {
			return "there is a fork " + shellWord(full)
		}
	}
}

// shellWord makes a name safe to copy from a hint into a shell.
func shellWord(s string) string {
	s = safeLine(s)
	if s != "" && s[0] != '-' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+=,-") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
