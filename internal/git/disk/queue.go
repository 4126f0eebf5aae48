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

// Queue has processes follow one another in the order in which they came. Each has a ticket in
// the folder dir, a numbered file that it holds locked, and waits for all with lower numbers:
// whoever ends, however that comes about, lets go of its ticket. Nothing there has to survive
// a power cut, so nothing is synced.
//
// waiting, if it is not nil, is called once before it waits, with the process that has the turn
// (0: not known). With nowait it returns ErrLocked in place of waiting. The function that is
// returned gives the turn to the next.
func (d *FS) Queue(ctx context.Context, dir string, nowait bool, waiting func(pid int)) (leave func(), err error) {
	if err := d.MkdirAll(dir); err != nil {
		return nil, err
	}
	ticket, before, err := d.ticket(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("take a place in %s: %w", dir, err)
	}
	leave = func() {
		_ = os.Remove(ticket.File.Name()) // if it stays, the next one removes it
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
	const enough = time.Minute // it is held for some microseconds
	desk, err := d.Lock(ctx, filepath.Join(dir, "desk"), enough)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = desk.Unlock() }()
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	var numbers []int
	for _, entry := range list {
		if n, err := strconv.Atoi(entry.Name()); err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	next, before := 1, make([]string, len(numbers))
	for i, n := range numbers {
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

// await waits until nobody holds a ticket any more, and removes it.
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
		holder, _ := strconv.Atoi(string(pid[:n])) // 0 where it is not written yet
		waiting(holder)
		const forever = 100 * 365 * 24 * time.Hour
		err = waitLock(ctx, f, time.Now().Add(forever))
	}
	if err == nil {
		_ = os.Remove(path) // its holder ended without doing so
	}
	return err
}
