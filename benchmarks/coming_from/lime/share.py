found.save_to_file("why.html")
