package hostcli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tape/hooks"
	"tape/internal/agent"
	"tape/internal/git/disk"
	"tape/internal/store/layout"
)

// enter waits until no other process has a turn on the same tape. Turns begin in the order in which they
// came; writing to the tape without a turn does not wait. With NoWait it returns ErrBusy instead of waiting.
func (a *assembly) enter(ctx context.Context, session string, m hooks.Envelope) (leave func(), err error) {
	store, err := a.rt.TapeStore(ctx)
	if err != nil {
		return nil, err
	}
	tape := agent.TapeName(session)
	leave, err = disk.WithPermissionsOf(store.Dir()).Queue(ctx, store.PrivatePath("turns", layout.TapeSlug(tape)), a.NoWait, func(pid int) {
		who := "another process"
		if pid > 0 {
			who = fmt.Sprintf("process %d", pid)
		}
		out := hooks.Envelope{hooks.KeyKind: hooks.KindError, hooks.KeyStage: hooks.StageWaiting,
			hooks.KeyContent: fmt.Sprintf("session %s: waiting for the turn of %s to end", session, who)}
		for _, key := range []string{hooks.KeySession, hooks.KeyChannel, hooks.KeyChat, hooks.KeyOutputChannel} {
			if v, ok := m[key]; ok {
				out[key] = v
			}
		}
		if _, err := a.rt.Dispatch(ctx, out); err != nil {
			a.log.Warn("could not tell the sender that the turn waits", "error", err)
		}
	})
	if errors.Is(err, disk.ErrLocked) {
		return nil, &layout.Error{Class: layout.ErrBusy, Msg: fmt.Sprintf("session %s: another process has a turn", session),
			Way: layout.Words("without --no-wait, the command waits for its end")}
	}
	return leave, err
}

// chatMessages returns the folder for a chat's messages. Each chat on a session has a folder of its own. A free
// folder with messages, which a killed chat has left, is taken first.
func (a *assembly) chatMessages(ctx context.Context, session string) string {
	const limit = 10
	first, free := a.messages("chat-"+layout.TapeSlug(session)), ""
	for n := 1; n <= limit; n++ {
		dir := first
		if n > 1 {
			dir = fmt.Sprintf("%s.%d", first, n)
		}
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return cmp.Or(free, dir)
		}
		lock, err := (*disk.FS)(nil).Lock(ctx, filepath.Join(dir, "lock"), 0)
		if err == nil {
			_ = lock.Unlock()
		}
		if errors.Is(err, disk.ErrLocked) {
			continue
		}
		free = cmp.Or(free, dir)
		if waiting, err := os.ReadDir(filepath.Join(dir, "spool")); err == nil && len(waiting) > 0 {
			return dir
		}
	}
	return cmp.Or(free, first) // if none is free, opening the first fails with a clear error
}
