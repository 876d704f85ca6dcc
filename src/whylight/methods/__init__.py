"""Attribution methods, one file each: typed functions from views to scores `[targets, features]`."""
