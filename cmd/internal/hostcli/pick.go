package hostcli

import (
	"context"
	"os"

	"tape/cmd/internal/cli"
)

// Pick shows the list of sessions, and the logs of those that are chosen, until the person leaves.
func (Host) Pick(ctx context.Context, o cli.PickOptions) error {
	list := make([]pickerSession, len(o.Sessions))
	for i, t := range o.Sessions {
		list[i] = pickerSession{Tape: t, Here: o.Here[i]}
	}
	p := newPicker(pickerOptions{Sessions: list, In: o.App.Stdin, Out: os.Stdout, Env: os.Environ(), Now: o.App.Now, Resume: o.Resume})
	for {
		session, err := p.Pick(ctx)
		if err != nil || session < 0 || !o.Open(session) {
			return err
		}
	}
}
