#include "store/value/cell.h"

const char *kind_name(uint8_t kind)
{
	switch (kind) {
	case CELL_PUT:
		return "put";
	case CELL_DELETE:
		return "delete";
	case CELL_DELETE_FAMILY_VERSION:
		return "delete-family-version";
	case CELL_DELETE_COLUMN:
		return "delete-column";
	case CELL_DELETE_FAMILY:
		return "delete-family";
	}
	return "unknown";
}

int kind_parse(struct bytes name)
{
	static const uint8_t kinds[] = {CELL_PUT, CELL_DELETE,
					CELL_DELETE_FAMILY_VERSION,
					CELL_DELETE_COLUMN, CELL_DELETE_FAMILY};

	for (size_t i = 0; i < sizeof(kinds); i++)
		if (bytes_eq(name, bytes_str(kind_name(kinds[i]))))
			return kinds[i];
	return -1;
}
