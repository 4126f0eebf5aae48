package jsonl

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

func TestFields(t *testing.T) {
	obj := []byte(` { "a" : 1.0 , "\u0062" : { "x" : "}" } , "a":[ "]" , {} ] , "":null,"s":" q\" " } `)
	var got []string
	for k, v := range Fields(obj) {
		got = append(got, k+"="+string(v))
	}
	want := []string{`a=1.0`, `b={ "x" : "}" }`, `a=[ "]" , {} ]`, `=null`, `s=" q\" "`}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, src := range []string{``, ` `, `[]`, `"a"`, `1`, `null`, `{}`, ` { } `} {
		for k := range Fields([]byte(src)) {
			t.Errorf("Fields(%s) yields %q", src, k)
		}
		for v := range Elements([]byte(src)) {
			t.Errorf("Elements(%s) yields %q", src, v)
		}
	}
	for range Fields(obj) {
		break
	}
}

func TestElements(t *testing.T) {
	var got []string
	for v := range Elements([]byte(` [ 1 , "a,]" , [ 2 ] , { "b" : [ ] } , null ] `)) {
		got = append(got, string(v))
	}
	if want := []string{`1`, `"a,]"`, `[ 2 ]`, `{ "b" : [ ] }`, `null`}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for range Elements([]byte(`[1,2]`)) {
		break
	}
}

func TestGet(t *testing.T) {
	obj := []byte(`{"a":{"b":{"c":"x\ny"}},"\u0064":1,"e":1,"e":2,"n":null}`)
	for want, path := range map[string][]string{
		`"x\ny"`: {"a", "b", "c"}, `1`: {"d"}, `2`: {"e"}, `null`: {"n"}, string(obj): {},
	} {
		if got := Get(obj, path...); string(got) != want {
			t.Errorf("Get(%q) = %s, want %s", path, got, want)
		}
	}
	for _, path := range [][]string{{"x"}, {"d", "x"}, {"a", "b", "c", "d"}, {"n", "x"}, {""}} {
		if got := Get(obj, path...); got != nil {
			t.Errorf("Get(%q) = %s, want nil", path, got)
		}
	}
	if s := GetString(obj, "a", "b", "c"); s != "x\ny" {
		t.Errorf("GetString = %q, want \"x\\ny\"", s)
	}
	if s := GetString(obj, "d"); s != "" {
		t.Errorf("GetString of a number = %q, want \"\"", s)
	}
	if !IsObject([]byte(" \n{")) || IsObject([]byte("[")) || IsObject(nil) {
		t.Error("IsObject should report true for \" \\n{\", and false for \"[\" and nil")
	}
}

func TestGetDoesNotAllocate(t *testing.T) {
	obj := []byte(`{"type":"x","message":{"role":"user","content":[{"type":"text","text":"hello"}]}}`)
	n := testing.AllocsPerRun(100, func() {
		for k, v := range Fields(obj) {
			if k == "message" {
				for e := range Elements(Get(v, "content")) {
					Get(e, "text")
				}
			}
		}
	})
	if n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func FuzzFields(f *testing.F) {
	for _, v := range values {
		f.Add([]byte(v), "a")
	}
	f.Fuzz(func(t *testing.T, src []byte, name string) {
		keys, n := map[string][]byte{}, 0
		for k, v := range Fields(src) {
			keys[k] = v
			if n++; n > len(src) || len(v) == 0 {
				t.Fatalf("Fields(%q) yields an empty value, or more members than bytes", src)
			}
		}
		var vals [][]byte
		for v := range Elements(src) {
			vals = append(vals, v)
			if len(vals) > len(src) || len(v) == 0 {
				t.Fatalf("Elements(%q) yields an empty value, or more elements than bytes", src)
			}
		}
		if got := Get(src, name); !bytes.Equal(got, keys[name]) {
			t.Fatalf("Get(%q, %q) = %q, want %q", src, name, got, keys[name])
		}
		GetString(src, name, name)
		if !acceptable(src) {
			return
		}
		var obj map[string]json.RawMessage
		if err := json.Unmarshal(src, &obj); err == nil && obj != nil {
			if len(obj) != len(keys) {
				t.Fatalf("Fields(%q): %q, want %q", src, keys, obj)
			}
			for k, v := range obj {
				if !bytes.Equal(keys[k], v) {
					t.Fatalf("Fields(%q): %q is %q, want %q", src, k, keys[k], v)
				}
			}
		}
		var arr []json.RawMessage
		if err := json.Unmarshal(src, &arr); err == nil {
			if len(arr) != len(vals) {
				t.Fatalf("Elements(%q): %q, want %q", src, vals, arr)
			}
			for i, v := range arr {
				if !bytes.Equal(vals[i], v) {
					t.Fatalf("Elements(%q)[%d] = %q, want %q", src, i, vals[i], v)
				}
			}
		}
	})
}
