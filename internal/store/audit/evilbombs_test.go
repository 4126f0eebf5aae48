package audit_test

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/adler32"
	"hash/crc32"
	"io"
	"path/filepath"
	"slices"
	"testing"
)

// chunk is a number of equal bytes that are deflated once; their stream is then repeated.
const chunk = 1 << 20

// deflated is the zlib stream of head followed by n times the byte x; n is a multiple of chunk. It
// is a thousand times smaller than the data, and takes hardly any time to make.
func deflated(t testing.TB, head []byte, x byte, n int64) []byte {
	t.Helper()
	var out bytes.Buffer
	out.Write([]byte{0x78, 0x01})
	stretch := func(data []byte, w io.Writer) {
		z, err := flate.NewWriter(w, flate.BestCompression)
		if err == nil {
			_, err = z.Write(data)
		}
		if err == nil {
			err = z.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	stretch(head, &out)
	var one bytes.Buffer
	stretch(bytes.Repeat([]byte{x}, chunk), &one)
	for range n / chunk {
		out.Write(one.Bytes())
	}
	out.Write([]byte{0x03, 0x00}) // an empty last block
	return binary.BigEndian.AppendUint32(out.Bytes(), adler(head, x, n))
}

// adler is the Adler-32 of head followed by n times x.
func adler(head []byte, x byte, n int64) uint32 {
	const mod = 65521
	sum := adler32.Checksum(head)
	a, b := int64(sum&0xffff), int64(sum>>16)
	n1 := n % mod
	// b gains a+x, a+2x, … a+nx.
	triangle := (n % (2 * mod)) * ((n + 1) % (2 * mod)) / 2 % mod
	b = (b + n1*a + triangle*int64(x)) % mod
	a = (a + n1*int64(x)) % mod
	return uint32(b<<16 | a)
}

// bombCases have objects that are larger than they look.
func bombCases() []evilCase {
	sized := func(name string, x byte, size int64, unsent bool) evilCase {
		k := changeMain(name, "the limit", func(c *tip) {
			put(&c.phase, entry{file, "messages.jsonl", c.loose("blob", x, size)})
			c.push(c.save())
		})
		k.Unsent = unsent
		return k
	}
	packed := func(name string, build func(p *pack) string) evilCase {
		k := changeMain(name, "the limit", func(c *tip) {
			p := &pack{bare: c.bare}
			put(&c.phase, entry{file, "messages.jsonl", build(p)})
			p.save()
			c.push(c.save())
		})
		k.Unsent = true
		return k
	}
	const huge = 4 << 30
	return []evilCase{
		sized("a blob of 20 MiB", 0, 20<<20, false),
		sized("a blob that inflates to 4 GiB", 0, huge, true),
		sized("a line of 1 GiB", 'x', 1<<30, true),
		packed("a packed blob that inflates to 4 GiB", func(p *pack) string { return p.add(packBlob, huge, nil, deflated(p.t, nil, 0, huge)) }),
		packed("a small delta that expands to 4 GiB", func(p *pack) string {
			base := p.add(packBlob, 1<<16, nil, deflatedBytes(p.t, make([]byte, 1<<16)))
			delta := deltaSizes(1<<16, huge)
			for range huge >> 16 {
				delta = append(delta, 0x80) // copy 64 KiB from the beginning
			}
			return p.add(packRefDelta, int64(len(delta)), unhex(p.t, base), deflatedBytes(p.t, delta))
		}),
		packed("a small delta on a base of 4 GiB", func(p *pack) string {
			base := p.add(packBlob, huge, nil, deflated(p.t, nil, 0, huge))
			delta := append(deltaSizes(huge, 3), 3, 'a', 'b', '\n')
			return p.add(packRefDelta, int64(len(delta)), unhex(p.t, base), deflatedBytes(p.t, delta))
		}),
		packed("a delta that is 4 GiB itself", func(p *pack) string {
			base := p.add(packBlob, 3, nil, deflatedBytes(p.t, []byte("ab\n")))
			head := deltaSizes(3, 3)
			return p.add(packRefDelta, huge+int64(len(head)), unhex(p.t, base), deflated(p.t, head, 0, huge))
		}),
		packed("deltas of each other", func(p *pack) string {
			delta := append(deltaSizes(3, 3), 3, 'a', 'b', '\n')
			a := p.add(packRefDelta, int64(len(delta)), make([]byte, 20), deflatedBytes(p.t, delta))
			b := p.add(packRefDelta, int64(len(delta)), unhex(p.t, a), deflatedBytes(p.t, delta))
			copy(p.objects[0].data[1:], unhex(p.t, b))
			return b
		}).want("a chain of more than"),
		changeMain("a tree of 4 GiB", "the limit", func(c *tip) { c.push(c.loose("tree", 0, huge)) }).unsent(),
		changeMain("a tape.json of 4 GiB", "", func(c *tip) {
			put(&c.root, entry{file, "tape.json", c.loose("blob", ' ', huge)})
			c.push(c.tree(c.root...))
		}).want("the limit").unsent(),
		{Name: "a commit of 4 GiB", Ref: mainRef, Want: "the limit", Unsent: true, Build: func(t testing.TB, dir, good string) {
			r := copyRepo(t, dir, good)
			r.set(mainRef, r.loose("commit", 'x', huge))
		}},
	}
}

func (c evilCase) unsent() evilCase {
	c.Unsent = true
	return c
}

// loose stores an object of size equal bytes, a multiple of chunk. A huge one gets a false
// name: to compute the right one, all of it would have to be inflated.
func (r bare) loose(kind string, x byte, size int64) string {
	r.t.Helper()
	head := fmt.Appendf(nil, "%s %d\x00", kind, size)
	name := sha1.Sum(append(head, x))
	if size <= 64*chunk {
		name = sha1.Sum(append(head, bytes.Repeat([]byte{x}, int(size))...))
	}
	hash := hex.EncodeToString(name[:])
	write(r.t, r.loosePath(hash), string(deflated(r.t, head, x, size)))
	return hash
}

// pack is a packfile, written by hand because git would check its content.
type pack struct {
	bare
	objects []packObject
}

type packObject struct {
	name [20]byte
	data []byte // as it is in the file
}

// Types of objects in a pack, see gitformat-pack(5).
const (
	packBlob     = 3
	packRefDelta = 7
)

// add adds an object under a false name.
func (p *pack) add(kind byte, size int64, base, stream []byte) string {
	head := []byte{kind<<4 | byte(size&15)}
	for size >>= 4; size > 0; size >>= 7 {
		head[len(head)-1] |= 0x80
		head = append(head, byte(size&0x7f))
	}
	o := packObject{data: slices.Concat(head, base, stream)}
	o.name = sha1.Sum(fmt.Appendf(nil, "%d of %d", len(p.objects), len(o.data)))
	p.objects = append(p.objects, o)
	return hex.EncodeToString(o.name[:])
}

// save writes the pack and its index.
func (p *pack) save() {
	data := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(len(p.objects)))
	type place struct {
		packObject
		offset uint32
	}
	var places []place
	for _, o := range p.objects {
		places = append(places, place{o, uint32(len(data))})
		data = append(data, o.data...)
	}
	sum := sha1.Sum(data)
	slices.SortFunc(places, func(a, b place) int { return bytes.Compare(a.name[:], b.name[:]) })
	index := []byte("\xfftOc\x00\x00\x00\x02")
	for first := range 256 {
		n := 0
		for _, o := range places {
			if int(o.name[0]) <= first {
				n++
			}
		}
		index = binary.BigEndian.AppendUint32(index, uint32(n))
	}
	for _, o := range places {
		index = append(index, o.name[:]...)
	}
	for _, o := range places {
		index = binary.BigEndian.AppendUint32(index, crc32.ChecksumIEEE(o.data))
	}
	for _, o := range places {
		index = binary.BigEndian.AppendUint32(index, o.offset)
	}
	index = append(index, sum[:]...)
	indexSum := sha1.Sum(index)
	base := filepath.Join(p.dir, "objects", "pack", "pack-"+hex.EncodeToString(sum[:]))
	write(p.t, base+".pack", string(append(data, sum[:]...)))
	write(p.t, base+".idx", string(append(index, indexSum[:]...)))
}

// deltaSizes is the head of a delta: the sizes of its base and of its result.
func deltaSizes(sizes ...int64) (out []byte) {
	for _, n := range sizes {
		for ; n >= 0x80; n >>= 7 {
			out = append(out, byte(n)|0x80)
		}
		out = append(out, byte(n))
	}
	return out
}

func deflatedBytes(t testing.TB, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z, err := zlib.NewWriterLevel(&out, zlib.BestSpeed)
	if err == nil {
		_, err = z.Write(data)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	raw, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
