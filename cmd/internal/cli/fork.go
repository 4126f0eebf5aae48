package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"tape/cmd/internal/stdio"
	"tape/internal/show/display"
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
		Short: "Create a fork of the session",
		Long: `Begin a fork: a branch of the session that you read and write like any session, and later merge back
or discard. It begins at the session's end or, with --at, after an earlier anchor (its name,
number, folder or tag) or entry (@17, or TAPE@17).

A fork's full name is PARENT/NAME. Use it wherever a session's name is accepted: with --tape for
one command, in TAPE_NAME for a shell. --switch makes the fork the current session. To fork a
fork, name it with --tape.`,
		Example: `  tape fork try-redis
  tape --tape main/try-redis append --role assistant --text "redis it is"
  tape fork second-try --at plan --switch
  tape --tape main/try-redis fork cluster`,
		Args:              takes(1, "NAME"),
		ValidArgsFunction: completeWords(),
		PreRunE:           func(*cobra.Command, []string) error { return a.nameEntries(&o.at) },
		RunE:              a.onTape(o.run),
	}
	cmd.Flags().StringVar(&o.at, "at", "", "begin after this `ANCHOR` or entry (@ID)")
	cmd.Flags().BoolVar(&o.move, "switch", false, "make the fork the current session")
	return cmd
}

func (o *forkOptions) run(ctx context.Context, t *repo.Tape, args []string) error {
	f, base, err := forkTape(ctx, t, args[0], o.at)
	if err != nil {
		return err
	}
	if o.move {
		if _, err := t.Store().Switch(ctx, f.Name()); err != nil {
			return err
		}
	}
	if o.app.JSON {
		return o.app.Emit(object{{"fork", f.ForkName()}, {"tape", f.Parent()}, {"name", f.Name()}, {"branch", f.Branch()}, {"path", orNull(f.WorkTree())},
			{"base", base.Entry}, {"base_anchor", base.Anchor}, {"current", f.Name() == t.Store().CurrentTape()}})
	}
	o.app.PrintUnlessQuiet("forked %s at %s: %s", quoted(t.Name()), baseText(base), quoted(f.Name()))
	word := shellWord(f.Name())
	if o.move {
		o.app.PrintUnlessQuiet("it is the current tape now; tape switch %s goes back", shellWord(t.Name()))
	} else if offers(f.Name(), "") {
		o.app.PrintUnlessQuiet("use it with: tape --tape %s COMMAND, or: export TAPE_NAME=%s", word, word)
	}
	return nil
}

func forkTape(ctx context.Context, t *repo.Tape, name, at string) (*repo.Tape, repo.Base, error) {
	f, err := t.ForkAt(ctx, name, at)
	if err != nil {
		return nil, repo.Base{}, err
	}
	base, err := f.Base(ctx)
	return f, base, err
}

func baseText(b repo.Base) string {
	return fmt.Sprintf("@%d (%s)", b.Entry, display.Truncate(display.Line(b.Anchor), stdio.MaxCell))
}
