package cache

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Entry is a kernel in the cache.
type Entry struct {
	Key    string
	Object string // absolute path of the shared object
	Source string // absolute path of its C
	SHA256 string // of the object, in hex
	Size   int64  // of object and source
}

// meta is the content of meta.json.
type meta struct {
	Key    string   `json:"key"`
	Object fileMeta `json:"object"`
	Source fileMeta `json:"source"`
}

type fileMeta struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

func describe(content []byte) fileMeta {
	sum := sha256.Sum256(content)
	return fileMeta{SHA256: hex.EncodeToString(sum[:]), Size: int64(len(content))}
}

// Load returns the entry of key and notes its use. ok is false if there is none, or one that is torn or was changed.
func (s *Store) Load(key string) (entry Entry, ok bool, err error) {
	checkKey(key)
	entry, err = s.read(key)
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return Entry{}, false, s.problem("can't be read", err)
		}
		return Entry{}, false, nil
	}
	now := time.Now()
	_ = os.Chtimes(filepath.Join(s.entryDir(key), MetaName), now, now) // only the order of pruning depends on it
	return entry, true, nil
}

var errTorn = errors.New("the entry is incomplete or was changed")

// read reads and checks the entry of key.
func (s *Store) read(key string) (Entry, error) {
	dir := s.entryDir(key)
	text, err := os.ReadFile(filepath.Join(dir, MetaName))
	if err != nil {
		return Entry{}, err
	}
	var m meta
	if err := json.Unmarshal(text, &m); err != nil || m.Key != key {
		return Entry{}, errTorn
	}
	object, err := os.ReadFile(filepath.Join(dir, ObjectName))
	if err != nil {
		return Entry{}, err
	}
	source, err := os.ReadFile(filepath.Join(dir, SourceName))
	if err != nil {
		return Entry{}, err
	}
	if describe(object) != m.Object || describe(source) != m.Source {
		return Entry{}, errTorn
	}
	return s.entry(m), nil
}

// entry is the entry that m describes.
func (s *Store) entry(m meta) Entry {
	dir := s.entryDir(m.Key)
	return Entry{
		Key: m.Key, Object: filepath.Join(dir, ObjectName), Source: filepath.Join(dir, SourceName),
		SHA256: m.Object.SHA256, Size: m.Object.Size + m.Source.Size,
	}
}

// seal writes meta.json for the object and source in dir. Nothing waits for the disk: an entry that a loss of power tears does not
// have its checksums, and is built again.
func seal(dir, key string) (meta, error) {
	m := meta{Key: key}
	for name, f := range map[string]*fileMeta{ObjectName: &m.Object, SourceName: &m.Source} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return m, err
		}
		*f = describe(content)
	}
	text, err := json.Marshal(m)
	if err != nil {
		return m, err
	}
	return m, os.WriteFile(filepath.Join(dir, MetaName), text, 0o600)
}

// PutRequest stores the answer to the compile request called name, replacing an older one as a whole. The file's first
// line is the checksum of the name and the rest, so that an answer under another name is none.
func (s *Store) PutRequest(name string, content []byte) error {
	path := filepath.Join(s.root, "requests", filepath.Base(name)+".json")
	content = append([]byte(answerSum(name, content)+"\n"), content...)
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return nil
	}
	return s.lasting(func() (removed bool, err error) {
		if err := s.replace(path, content); err != nil {
			return errors.Is(err, fs.ErrNotExist), s.problem("can't be written", err)
		}
		return false, nil
	})
}

// replace makes content the file at path, as a whole.
func (s *Store) replace(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Join(s.root, "tmp"), "request.*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// Request returns what PutRequest stored under name, unless it was changed since.
func (s *Store) Request(name string) (content []byte, ok bool) {
	text, err := os.ReadFile(filepath.Join(s.root, "requests", filepath.Base(name)+".json"))
	sum, content, _ := bytes.Cut(text, []byte("\n"))
	if err != nil || string(sum) != answerSum(name, content) {
		return nil, false
	}
	return content, true
}

func answerSum(name string, content []byte) string {
	return describe(append([]byte(filepath.Base(name)+"\n"), content...)).SHA256
}
