package gitobject

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"sort"
)

// packIndex is the index of a pack, a file of version 2, see gitformat-pack(5). The entries of all objects with
// the same first byte are read when one of them is looked up: most commands need few of many objects.
type packIndex struct {
	file    *os.File
	fanout  [256]uint32
	buckets [256]bucket
}

// bucket has the objects with the same first byte: their names in order, and their offsets in the pack.
type bucket struct{ names, offsets []byte }

const (
	packIndexMagic   = "\xfftOc\x00\x00\x00\x02"
	packIndexNames   = int64(len(packIndexMagic) + 256*4)
	packIndexTrailer = 2 * hashLen // checksums of pack and index
	hashLen          = len(Hash{})
	farOffset        = 1 << 31 // a flag: the other bits of the offset are an index in the table of 64-bit offsets
)

func openPackIndex(path string) (*packIndex, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	x := &packIndex{file: file}
	if err := x.readFanout(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
	}
	return x, nil
}

func (x *packIndex) readFanout() error {
	head := make([]byte, packIndexNames)
	st, err := x.file.Stat()
	if err == nil {
		_, err = x.file.ReadAt(head, 0)
	}
	if err != nil {
		return err
	}
	if string(head[:len(packIndexMagic)]) != packIndexMagic {
		return errors.New("not the index of a pack, version 2")
	}
	for i := range x.fanout {
		x.fanout[i] = binary.BigEndian.Uint32(head[len(packIndexMagic)+4*i:])
	}
	if !slices.IsSorted(x.fanout[:]) || st.Size() < x.at(x.count(), hashLen+4+4)+int64(packIndexTrailer) {
		return errors.New("the index of the pack is damaged")
	}
	return nil
}

// count is the number of objects.
func (x *packIndex) count() uint32 { return x.fanout[255] }

// at returns the offset in the file after n records of size bytes, which follow the fanout.
func (x *packIndex) at(n uint32, size int) int64 { return packIndexNames + int64(n)*int64(size) }

func (x *packIndex) bucket(first byte) (*bucket, error) {
	b, from := &x.buckets[first], uint32(0)
	if first > 0 {
		from = x.fanout[first-1]
	}
	n := int(x.fanout[first] - from)
	if n == 0 || b.names != nil {
		return b, nil
	}
	names, offsets := make([]byte, n*hashLen), make([]byte, n*4)
	_, err := x.file.ReadAt(names, x.at(from, hashLen))
	if err == nil { // checksums of the objects are between names and offsets
		_, err = x.file.ReadAt(offsets, x.at(x.count(), hashLen+4)+int64(from)*4)
	}
	if err != nil {
		return nil, err
	}
	b.names, b.offsets = names, offsets
	return b, nil
}

// offset returns where an object is in the pack. Errors: ErrNotFound.
func (x *packIndex) offset(h Hash) (int64, error) {
	b, err := x.bucket(h[0])
	if err != nil {
		return 0, err
	}
	i, found := sort.Find(len(b.offsets)/4, func(i int) int { return bytes.Compare(h[:], b.names[i*hashLen:(i+1)*hashLen]) })
	if !found {
		return 0, ErrNotFound
	}
	near := binary.BigEndian.Uint32(b.offsets[i*4:])
	if near < farOffset {
		return int64(near), nil
	}
	var far [8]byte
	if _, err := x.file.ReadAt(far[:], x.at(x.count(), hashLen+4+4)+int64(near-farOffset)*8); err != nil {
		return 0, err
	}
	return int64(binary.BigEndian.Uint64(far[:])), nil
}

// names returns the ids of the objects that begin with first.
func (x *packIndex) names(first byte) ([]Hash, error) {
	b, err := x.bucket(first)
	if err != nil {
		return nil, err
	}
	var out []Hash
	for name := range slices.Chunk(b.names, hashLen) {
		out = append(out, Hash(name))
	}
	return out, nil
}
