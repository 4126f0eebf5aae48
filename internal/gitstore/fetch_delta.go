package gitstore

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/klauspost/compress/zlib"

	"tape/internal/disk"
)

// contentBytes bounds the contents that are kept while deltas are resolved, but for the
// two that are in use.
const contentBytes = 96 << 20

// contentCache keeps contents of a pack's objects, those looked at last.
type contentCache struct {
	data map[int][]byte
	age  []int // oldest first; an index may be there twice
	held int64
}

func (c *contentCache) put(i int, data []byte) {
	if c.data == nil {
		c.data = map[int][]byte{}
	}
	if _, ok := c.data[i]; ok {
		return
	}
	c.data[i], c.held = data, c.held+int64(len(data))
	c.age = append(c.age, i)
	for c.held > contentBytes && len(c.age) > 1 {
		c.drop(c.age[0])
	}
}

func (c *contentCache) drop(i int) {
	if data, ok := c.data[i]; ok {
		c.held -= int64(len(data))
		delete(c.data, i)
	}
	for len(c.age) > 0 {
		if _, ok := c.data[c.age[0]]; ok {
			return
		}
		c.age = c.age[1:]
	}
}

// resolve finds the names of the deltas, each after what it stands on.
func (x *packIndexer) resolve() error {
	children := map[int][]int{} // base → deltas on it
	outside := map[Hash][]int{} // the same for bases that the pack may lack
	for i, e := range x.entries {
		switch e.kind {
		case packOfsDelta:
			base, ok := x.byOffset[e.base]
			if !ok {
				return hostile("a delta stands on no object of the pack")
			}
			children[base] = append(children[base], i)
		case packRefDelta:
			outside[e.baseHash] = append(outside[e.baseHash], i)
		}
	}
	var stack []int
	for i, e := range x.entries {
		if e.done {
			stack = append(stack, i)
		}
	}
	for {
		if err := x.follow(stack, children, outside); err != nil {
			return err
		}
		var err error
		if stack, err = x.borrow(outside); err != nil {
			return err
		}
		if len(stack) == 0 {
			break
		}
	}
	for _, e := range x.entries {
		if !e.done {
			return hostile("a delta stands on an object that is nowhere")
		}
	}
	return nil
}

// follow resolves the deltas that stand on the objects of the stack, and those on them.
func (x *packIndexer) follow(stack []int, children map[int][]int, outside map[Hash][]int) error {
	for len(stack) > 0 {
		base := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		next := children[base]
		if named := outside[x.entries[base].h]; len(named) > 0 {
			next = append(next, named...)
			delete(outside, x.entries[base].h)
		}
		for _, i := range next {
			if err := x.ctx.Err(); err != nil {
				return err
			}
			e := &x.entries[i]
			if e.kind == packRefDelta { // its base is known now
				e.base = x.entries[base].offset
			}
			e.real = x.entries[base].real
			data, err := x.content(i)
			if err != nil {
				return err
			}
			e.h, e.done = HashObject(e.real, data), true
			if err := checkObject(e.real, data); err != nil {
				return hostile("%s %s: %w", e.real, e.h, err)
			}
			if _, ok := x.byHash[e.h]; !ok {
				x.byHash[e.h] = i
			}
		}
		stack = append(stack, next...)
	}
	return nil
}

// borrow takes bases that the pack lacks from the repository: they become entries at its
// end, and complete writes them there.
func (x *packIndexer) borrow(outside map[Hash][]int) (stack []int, err error) {
	for h := range outside {
		kind, data, err := x.r.Read(h)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		at := len(x.entries)
		// Until it is written its place is one that no entry of a pack has.
		e := packEntry{offset: -int64(at) - 1, size: int64(len(data)), h: h, real: kind, done: true}
		for code, k := range packKinds {
			if k == kind {
				e.kind = code
			}
		}
		x.entries, x.missing = append(x.entries, e), append(x.missing, h)
		x.byOffset[e.offset], x.byHash[h] = at, at
		stack = append(stack, at)
	}
	return stack, nil
}

// content gives an object of the pack whose base is known.
func (x *packIndexer) content(i int) ([]byte, error) {
	var chain []int // deltas to apply, last first
	data, ok := x.cache.data[i]
	for !ok {
		e := x.entries[i]
		if e.kind != packOfsDelta && e.kind != packRefDelta {
			var err error
			if e.offset < 0 {
				_, data, err = x.r.Read(e.h)
			} else {
				data, err = x.inflate(e)
			}
			if err != nil {
				return nil, err
			}
			x.cache.put(i, data)
			break
		}
		chain = append(chain, i)
		i = x.byOffset[e.base]
		data, ok = x.cache.data[i]
	}
	for k := len(chain) - 1; k >= 0; k-- {
		delta, err := x.inflate(x.entries[chain[k]])
		if err != nil {
			return nil, err
		}
		if data, err = applyDelta(data, delta); err != nil {
			return nil, hostile("a delta: %w", err)
		}
		x.cache.put(chain[k], data)
	}
	return data, nil
}

// inflate reads an entry once more. What it claims was found to be true.
func (x *packIndexer) inflate(e packEntry) ([]byte, error) {
	var out bytes.Buffer
	out.Grow(int(e.size))
	in := newPackReader(x.ctx, io.NewSectionReader(x.f, e.data, x.size-e.data))
	if err := new(inflater).copy(&out, in, e.size); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// applyDelta makes an object of a base and a delta on it: two sizes, then pieces to copy
// from the base or to insert.
func applyDelta(base, delta []byte) ([]byte, error) {
	short := errors.New("it ends early")
	number := func() (uint64, error) {
		n, used := binary.Uvarint(delta)
		if used <= 0 {
			return 0, short
		}
		delta = delta[used:]
		return n, nil
	}
	from, err := number()
	if err != nil {
		return nil, err
	}
	size, err := number()
	if err != nil {
		return nil, err
	}
	if from != uint64(len(base)) {
		return nil, fmt.Errorf("it is for a base of %d bytes, not %d", from, len(base))
	}
	if size > MaxObject {
		return nil, errTooLarge(int64(size))
	}
	out := make([]byte, 0, size)
	for len(delta) > 0 {
		op := delta[0]
		delta = delta[1:]
		if op&0x80 == 0 {
			n := int(op)
			if n == 0 || n > len(delta) {
				return nil, short
			}
			out, delta = append(out, delta[:n]...), delta[n:]
		} else {
			var offset, n uint32
			for bit := range 7 {
				if op&(1<<bit) == 0 {
					continue
				}
				if len(delta) == 0 {
					return nil, short
				}
				if bit < 4 {
					offset |= uint32(delta[0]) << (8 * bit)
				} else {
					n |= uint32(delta[0]) << (8 * (bit - 4))
				}
				delta = delta[1:]
			}
			if n == 0 {
				n = 0x10000
			}
			if uint64(offset)+uint64(n) > uint64(len(base)) {
				return nil, errors.New("it copies what its base does not have")
			}
			out = append(out, base[offset:offset+n]...)
		}
		if uint64(len(out)) > size {
			return nil, errors.New("it makes more than it claims")
		}
	}
	if uint64(len(out)) != size {
		return nil, short
	}
	return out, nil
}

// complete adds the bases that the pack lacks to its end, and sums it anew.
func (x *packIndexer) complete() error {
	if len(x.missing) == 0 {
		return nil
	}
	at := x.size - sha1.Size
	for _, h := range x.missing {
		e := &x.entries[x.byHash[h]]
		_, data, err := x.r.Read(h)
		if err != nil {
			return err
		}
		var entry bytes.Buffer
		c, rest := e.kind<<4|byte(e.size&15), e.size>>4
		for ; rest > 0; rest >>= 7 {
			entry.WriteByte(c | 0x80)
			c = byte(rest & 0x7f)
		}
		entry.WriteByte(c)
		z := zlib.NewWriter(&entry)
		_, err = z.Write(data)
		if err = errors.Join(err, z.Close()); err != nil {
			return err
		}
		if _, err := x.f.WriteAt(entry.Bytes(), at); err != nil {
			return err
		}
		e.offset, e.crc = at, crc32.ChecksumIEEE(entry.Bytes())
		at += int64(entry.Len())
	}
	var count [4]byte
	binary.BigEndian.PutUint32(count[:], uint32(len(x.entries)))
	if _, err := x.f.WriteAt(count[:], 8); err != nil {
		return err
	}
	sum := sha1.New()
	if _, err := io.Copy(sum, io.NewSectionReader(x.f, 0, at)); err != nil {
		return err
	}
	sum.Sum(x.sum[:0])
	_, err := x.f.WriteAt(x.sum[:], at)
	return err
}

// takePack checks a pack that another side has sent, completes it, and gives it its name
// among the repository's packs. Without objects there is nothing to take.
func (r *Repo) takePack(ctx context.Context, f *disk.File) error {
	x := &packIndexer{ctx: ctx, r: r, f: f}
	if err := x.scan(); err != nil {
		return err
	}
	if len(x.entries) == 0 {
		return nil
	}
	if err := x.resolve(); err != nil {
		return err
	}
	if err := x.complete(); err != nil {
		return fmt.Errorf("complete the pack: %w", err)
	}
	if len(x.byHash) != len(x.entries) {
		return hostile("the pack has an object twice")
	}
	var writer idxfile.Writer
	err := writer.OnHeader(uint32(len(x.entries)))
	for _, e := range x.entries {
		writer.Add(plumbing.Hash(e.h), uint64(e.offset), e.crc)
	}
	if err = errors.Join(err, writer.OnFooter(plumbing.Hash(x.sum))); err != nil {
		return err
	}
	index, err := writer.Index()
	if err != nil {
		return err
	}
	idx, err := (&Batch{r: r}).create()
	if err != nil {
		return err
	}
	defer func() {
		_ = idx.Close()
		_ = os.Remove(idx.Name())
	}()
	if _, err := idxfile.NewEncoder(idx).Encode(index); err != nil {
		return fmt.Errorf("write pack index: %w", err)
	}
	if err := errors.Join(idx.Chmod(0o400), f.Chmod(0o400), ctx.Err()); err != nil {
		return err
	}
	return r.publishPack(fmt.Sprintf("%x", x.sum), f, idx)
}
