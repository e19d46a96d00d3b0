//go:build unix

package simwindows

import (
	"slices"
	"strings"
)

// dotnet are the static methods of .NET that this host has: those that weft's scripts
// call, as Microsoft's API reference of .NET Framework 4.7.2 has them. known: it has the one
// of that name.
func (h *Host) dotnet(name string, args []any) (v any, known bool, err error) {
	s := make([]string, 4)
	for i := range min(len(args), len(s)) {
		s[i] = text(args[i])
	}
	kind, method, _ := strings.Cut(name, "::")
	switch kind {
	case "io.directory":
		return h.disk.folderMethod(method, s, args)
	case "io.file":
		return h.disk.fileMethod(method, s, args)
	case "io.path":
		return pathMethod(method, s)
	}
	return nil, false, nil
}

func pathMethod(name string, s []string) (any, bool, error) {
	switch name {
	case "getfilename":
		return base(s[0]), true, nil
	case "getdirectoryname":
		return parent(s[0]), true, nil
	case "combine":
		return strings.TrimRight(s[0], `\`) + `\` + s[1], true, nil
	}
	return nil, false, nil
}

func (d *disk) folderMethod(name string, s []string, args []any) (any, bool, error) {
	switch name {
	case "exists":
		i := d.items[key(s[0])]
		return i != nil && i.dir, true, nil
	case "createdirectory":
		sddl := ""
		if len(args) > 1 {
			if o, is := args[1].(*object); is {
				sddl = text(o.field("sddl"))
			}
		}
		d.mkdir(s[0], sddl)
		return made("System.IO.DirectoryInfo", "FullName", s[0]), true, nil
	case "getfiles", "getdirectories":
		if i := d.items[key(s[0])]; i == nil || !i.dir {
			return nil, true, raise("System.IO.DirectoryNotFoundException", "Could not find a part of the path '%s'.", s[0])
		}
		list := d.children(s[0])
		if s[2] == "AllDirectories" {
			list = d.below(s[0])
		}
		names := []any{}
		for _, i := range list {
			if i.dir == (name == "getdirectories") && (s[1] == "" || like(s[1], base(i.name))) {
				names = append(names, i.name)
			}
		}
		return names, true, nil
	case "move":
		return nil, true, d.move(s[0], s[1])
	case "delete":
		return nil, true, d.rmdir(s[0], len(args) > 1 && truth(args[1]))
	}
	return nil, false, nil
}

func (d *disk) fileMethod(name string, s []string, args []any) (any, bool, error) {
	switch name {
	case "exists":
		i := d.items[key(s[0])]
		return i != nil && !i.dir, true, nil
	case "move":
		return nil, true, d.move(s[0], s[1])
	case "copy":
		data, err := d.read(s[0])
		if err == nil && d.items[key(s[1])] != nil && (len(args) < 3 || !truth(args[2])) {
			err = raise("System.IO.IOException", "The file '%s' already exists.", s[1])
		}
		if err != nil {
			return nil, true, err
		}
		return nil, true, d.write(s[1], slices.Clone(data))
	case "replace":
		return nil, true, d.replace(s[0], s[1], args)
	case "delete":
		if d.items[key(parent(s[0]))] == nil {
			return nil, true, raise("System.IO.DirectoryNotFoundException", "Could not find a part of the path '%s'.", s[0])
		}
		delete(d.items, key(s[0]))
		return nil, true, nil
	case "readalltext":
		data, err := d.read(s[0])
		return strings.TrimPrefix(string(data), "\uFEFF"), true, err
	case "readallbytes":
		data, err := d.read(s[0])
		return slices.Clone(data), true, err
	case "writealltext":
		return nil, true, d.write(s[0], []byte(s[1]))
	case "open":
		switch {
		case s[2] != "Write" || s[3] != "None":
			return nil, false, nil
		case s[1] == "Append" && d.items[key(s[0])] != nil:
			return &stream{name: s[0]}, true, nil
		case s[1] != "Create" && s[1] != "Append":
			return nil, false, nil
		}
		return &stream{name: s[0]}, true, d.write(s[0], nil)
	case "getattributes":
		i := d.items[key(s[0])]
		switch {
		case i == nil:
			return nil, true, raise("System.IO.FileNotFoundException", "Could not find file '%s'.", s[0])
		case i.link:
			return "Directory, ReparsePoint", true, nil
		case i.dir:
			return "Directory", true, nil
		}
		return "Archive", true, nil
	}
	return nil, false, nil
}

// replace has one file be another, in one step. Its backup must be [NullString]::Value:
// $null would be an empty name.
func (d *disk) replace(from, to string, args []any) error {
	if len(args) != 3 || args[2] != (nullString{}) {
		return raise("System.ArgumentException", "The path is not of a legal form.")
	}
	data, err := d.read(from)
	if err == nil {
		_, err = d.read(to)
	}
	if err != nil {
		return err
	}
	delete(d.items, key(from))
	return d.write(to, data)
}
