package disk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// Queue lets processes take turns in the order in which they came. Each creates a numbered file,
// its ticket, in the folder dir, locks it, and waits for all tickets with lower numbers. When a
// process ends, however it ends, the system drops its lock. Nothing is synced, because no ticket
// has to survive a power cut.
//
// Before it waits, Queue calls waiting once, if that is not nil, with the process whose turn it
// is (0: not known). With nowait it returns ErrLocked instead of waiting. leave ends the turn.
func (d *FS) Queue(ctx context.Context, dir string, nowait bool, waiting func(pid int)) (leave func(), err error) {
	if err := d.MkdirAll(dir); err != nil {
		return nil, err
	}
	ticket, before, err := d.ticket(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("queue in %s: %w", dir, err)
	}
	leave = func() {
		_ = os.Remove(ticket.File.Name()) // if that fails, the next process removes it
		_ = ticket.Unlock()
	}
	once := func(pid int) {
		if waiting != nil {
			waiting(pid)
		}
		waiting = nil
	}
	for _, path := range before {
		if err := await(ctx, path, nowait, once); err != nil {
			leave()
			return nil, err
		}
	}
	return leave, nil
}

// ticket takes the next number, and lists the tickets before it in their order.
func (d *FS) ticket(ctx context.Context, dir string) (*Lock, []string, error) {
	const enough = time.Minute // everybody holds it for microseconds
	numbers, err := d.Lock(ctx, filepath.Join(dir, "desk"), enough)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = numbers.Unlock() }()
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	var taken []int
	for _, entry := range list {
		if n, err := strconv.Atoi(entry.Name()); err == nil {
			taken = append(taken, n)
		}
	}
	slices.Sort(taken)
	next, before := 1, make([]string, len(taken))
	for i, n := range taken {
		before[i], next = filepath.Join(dir, strconv.Itoa(n)), n+1
	}
	f, err := d.OpenFile(filepath.Join(dir, strconv.Itoa(next)), os.O_RDWR|os.O_CREATE|os.O_EXCL, FilePerm)
	if err != nil {
		return nil, nil, err
	}
	if ok, err := tryLock(f.File); err != nil || !ok {
		return nil, nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	_, _ = f.WriteString(strconv.Itoa(os.Getpid())) // for those who wait
	return &Lock{File: f}, before, nil
}

// await waits until nobody holds a ticket any more, and removes the file.
func await(ctx context.Context, path string, nowait bool, waiting func(pid int)) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	ok, err := tryLock(f)
	if err == nil && !ok {
		if nowait {
			return ErrLocked
		}
		pid := make([]byte, 20)
		n, _ := f.ReadAt(pid, 0)
		holder, _ := strconv.Atoi(string(pid[:n])) // 0: not written yet
		waiting(holder)
		const forever = 100 * 365 * 24 * time.Hour
		err = waitLock(ctx, f, time.Now().Add(forever))
	}
	if err == nil {
		_ = os.Remove(path) // its holder was killed before it could remove it
	}
	return err
}
