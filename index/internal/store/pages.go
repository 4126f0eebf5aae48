package store

import (
	"database/sql"
	"encoding/hex"

	"tape/index/internal/fts5"
)

// pages gives package fts5 the pages of the table of words.
type pages struct{ db *DB }

func (p pages) Block(id int64) ([]byte, error) {
	var block []byte
	_, err := p.db.row("SELECT block FROM entries_fts_data WHERE id = ?", []any{id}, &block)
	return block, err
}

func (p pages) Blocks(first, last int64, f func(id int64, block []byte) error) error {
	var id int64
	var block sql.RawBytes
	return p.db.rows("SELECT id, block FROM entries_fts_data WHERE id BETWEEN ? AND ? ORDER BY id", []any{first, last}, []any{&id, &block},
		func() error { return f(id, block) })
}

func (p pages) PutBlock(id int64, block []byte) error {
	return p.db.exec("REPLACE INTO entries_fts_data (id, block) VALUES (?, ?)", id, block)
}

func (p pages) DeleteBlocks(first, last int64) error {
	return p.db.exec("DELETE FROM entries_fts_data WHERE id BETWEEN ? AND ?", first, last)
}

func (p pages) PageOf(segid int64, term []byte) (int64, error) {
	var pgno int64
	_, err := p.db.row("SELECT pgno FROM entries_fts_idx WHERE segid = ? AND term <= ? ORDER BY term DESC LIMIT 1", []any{segid, term}, &pgno)
	return pgno, err
}

func (p pages) PageAfter(segid int64, term []byte) (int64, error) {
	var pgno int64
	_, err := p.db.row("SELECT pgno FROM entries_fts_idx WHERE segid = ? AND term > ? ORDER BY term LIMIT 1", []any{segid, term}, &pgno)
	return pgno, err
}

func (p pages) PagesOf(segid, first int64, terms [][]byte, f func(term int, pgno int64, page []byte) error) error {
	list := []byte{'['}
	for _, term := range terms {
		list = append(hex.AppendEncode(append(list, '"'), term), `",`...)
	}
	if list = append(list[:len(list)-1], ']'); len(terms) == 0 {
		return nil
	}
	var term int
	var pgno int64
	var page sql.RawBytes
	return p.db.rows(`SELECT key, pgno, block FROM (
			SELECT key, max(?2, coalesce((SELECT pgno FROM entries_fts_idx WHERE segid = ?1 AND term <= unhex(value) ORDER BY term DESC LIMIT 1), 0) >> 1) AS pgno
			FROM json_each(?3)
		) LEFT JOIN entries_fts_data ON id = ?4 + pgno`, []any{segid, first, string(list), fts5.LeafID(segid, 0)}, []any{&term, &pgno, &page},
		func() error { return f(term, pgno, page) })
}

func (p pages) PutPage(segid int64, term []byte, pgno int64) error {
	return p.db.exec("INSERT INTO entries_fts_idx (segid, term, pgno) VALUES (?, ?, ?)", segid, term, pgno)
}

func (p pages) DeletePages(segid int64) error {
	return p.db.exec("DELETE FROM entries_fts_idx WHERE segid = ?", segid)
}
